import { expect, test } from 'vitest'
import { IMMUTABLE } from './client.ts'
import { DESK, EVA, FINN, mimeOf, TEXT, useOffice } from './use-office.ts'

const office = useOffice()

const CLASS = "singleValueExtendedProperties($filter=id eq 'String 0x001A')"
const SENT = { 'Message-ID': '<lost@office.test>', Subject: 'Größe' }

async function reportTo(user: string) {
  const [report] = await office.list(user, 'inbox')
  const path = `messages/${report.id}?$select=subject,from,internetMessageHeaders&$expand=${encodeURIComponent(CLASS)}`
  const { data } = await office.ask(user, 'GET', path, undefined, IMMUTABLE)
  return { data, mime: await office.mime(user, report.id) }
}

test('reports an unknown address of a local domain, by class and by a DSN in the MIME', async () => {
  const headers = { ...SENT, To: `nobody@office.test, ${FINN}, away@far.test, gone@gmail.test` }
  expect((await office.ask(EVA, 'POST', 'sendMail', mimeOf(headers), TEXT)).status).toBe(202)
  expect(await office.list(FINN, 'inbox')).toHaveLength(1)
  expect(await office.list(EVA, 'inbox')).toHaveLength(2)
  const { data, mime } = await reportTo(EVA)
  expect(data.singleValueExtendedProperties).toMatchObject([{ value: 'REPORT.IPM.Note.NDR' }])
  expect(data.subject).toBe('Undeliverable: Größe')
  expect(data.from.emailAddress.address).toMatch(/^MicrosoftExchange[0-9a-f]{32}@office\.test$/)
  expect(data.internetMessageHeaders ?? null).toBeNull()
  expect(mime).toMatch(/^Content-Type: multipart\/report; report-type=delivery-status;/m)
  expect(mime).toMatch(/^Final-Recipient: rfc822;gone@gmail.test\r$/m)
  expect(mime).toMatch(/^Action: failed\r\nStatus: 5\.1\.10\r$/m)
  expect(mime).toMatch(/^In-Reply-To: <lost@office.test>\r$/m)
  // The original's headers are in the report, too.
  expect(mime.match(/^Message-ID: <lost@office.test>\r$/gm)).toHaveLength(1)
})

test('reports to the shared mailbox what a delegate sent from it', async () => {
  const path = `/v1.0/users/${DESK}/sendMail`
  await office.ask(EVA, 'POST', path, mimeOf({ ...SENT, From: DESK, To: 'nobody@office.test' }), TEXT)
  expect(await office.list(EVA, 'inbox')).toEqual([])
  expect((await reportTo(DESK)).data.subject).toBe('Undeliverable: Größe')
})

test("shows the headers of another system's report", async () => {
  const boundary = 'b'
  const report = [
    'From: Mail Delivery System <mailer-daemon@far.test>',
    `To: ${EVA}`,
    'Subject: Failure',
    `Content-Type: multipart/report; report-type=delivery-status; boundary=${boundary}`,
    '',
    `--${boundary}`,
    'Content-Type: message/delivery-status',
    '',
    'Final-Recipient: rfc822; a@far.test',
    `--${boundary}--`,
    '',
  ].join('\r\n')
  await office.control('POST', `/users/${EVA}/messages`, Buffer.from(report))
  const { data } = await reportTo(EVA)
  expect(data.internetMessageHeaders).toContainEqual({
    name: 'From',
    value: 'Mail Delivery System <mailer-daemon@far.test>',
  })
})
