import { expect, test } from 'vitest'
import { arrangeGmail } from '../../../test/gmail/arrange-gmail.ts'
import { configureGmail } from '../../../test/gmail/gmail-client.ts'
import { startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { describeContent } from '../conformance/content.ts'
import { describeMail } from '../conformance/mail.ts'
import { describeSearch } from '../conformance/search.ts'
import type { SearchProvider } from '../search.ts'
import { SOURCE } from './labels.ts'
import { untilLook } from './mail.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureGmail(server, { quota: 'off' })
  return server
})

describeMail('Gmail', () => arrangeGmail(sandbox()))
describeContent('Gmail', () => arrangeGmail(sandbox()))
describeSearch('Gmail', () => arrangeGmail(sandbox()))

test('reads parts by their numbers, without their transfer encoding, and adapts their header', async () => {
  await using arranged = await arrangeGmail(sandbox())
  const inner =
    'Subject: Inner\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y\r\n\r\nInner text\r\n' +
    '--y\r\nContent-Type: image/png; name=i.png\r\nContent-Transfer-Encoding: base64\r\n\r\naW5uZXI=\r\n--y--\r\n'
  const raw =
    'Subject: Parts\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nText\r\n' +
    '--x\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n' +
    `Content-Transfer-Encoding: base64\r\n\r\nUERG\r\n--x\r\nContent-Type: message/rfc822\r\n\r\n${inner}\r\n--x--\r\n`
  const [key] = await arranged.world.deliver([{ raw }])
  await using account = await arranged.connect()
  const read = async (part: string, isHeader = false) => {
    const pieces: Buffer[] = []
    const range = { part, isHeader, offset: 0, end: null, size: null }
    for await (const piece of account.content.open({ source: SOURCE, cursor: null, key: key! }, range))
      pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }
  expect(await read('2')).toBe('PDF')
  const header = await read('2', true)
  expect(header).toContain('filename=a.pdf')
  expect(header).toMatch(/Content-Transfer-Encoding: binary\r\n\r\n$/)
  expect(header).not.toContain('base64')
  expect(await read('3.2')).toBe('inner')
  expect(await read('4')).toBe('')
})

test('searches one mailbox, also Trash, or all but Trash and Spam', async () => {
  await using arranged = await arrangeGmail(sandbox())
  const { client } = arranged
  const work = await client.createLabel('Work')
  for (const [nth, label] of ['INBOX', work, 'TRASH', 'SPAM'].entries())
    await client.insert(
      `From: ada@example.com\r\nSubject: lily ${nth}\r\n\r\nText\r\n`,
      [label],
      new Date(Date.UTC(2024, 0, nth + 1)),
    )
  await using account = await arranged.connect()
  expect(await subjectsFound(account.search, ['INBOX', work])).toEqual(['lily 1', 'lily 0'])
  expect(await subjectsFound(account.search, [work])).toEqual(['lily 1'])
  expect(await subjectsFound(account.search, ['TRASH'])).toEqual(['lily 2'])
})

async function subjectsFound(provider: SearchProvider, mailboxKeys: string[]) {
  const steps = provider.search({
    text: 'lily',
    places: mailboxKeys.map(mailboxKey => ({
      id: mailboxKey,
      source: SOURCE,
      mailboxKey,
      cursor: null,
      size: null,
    })),
    after: null,
    before: null,
    position: null,
    limit: 10,
    secondsWanted: 60,
    known: () => Promise.resolve(new Map()),
  })
  for (;;) {
    const { done, value } = await steps.next()
    if (done) return value.hits.map(({ message }) => message?.subject)
  }
}

test.each([
  { nowMs: 0, waits: 30_000 },
  { nowMs: 1, waits: 29_999 },
  { nowMs: 599, waits: 29_401 },
  { nowMs: 600, waits: 30_000 },
  { nowMs: 86_400_599.5, waits: 29_400.5 },
])('of 30 s between two looks, $waits ms are waited for at $nowMs ms: every 600 ms some are due', times => {
  expect(untilLook(times.nowMs, 30_000)).toBe(times.waits)
})
