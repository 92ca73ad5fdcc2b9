import { expect, test } from 'vitest'
import { letter } from '../letter.ts'
import { IMMUTABLE } from './client.ts'
import { DESK, EVA, FINN, mimeOf, TEXT, to, useOffice } from './use-office.ts'

const office = useOffice()

async function delivered(headers: Record<string, string> = {}, body = 'Hello') {
  const given = {
    From: 'Out <out@far.test>',
    To: EVA,
    'Message-ID': `<${Math.random()}@far.test>`,
    Subject: 'Plan',
    ...headers,
  }
  const { data } = await office.control('POST', `/users/${EVA}/messages`, letter(given, body))
  return data.id as string
}

const draft = (body: object = {}) =>
  office.ask(EVA, 'POST', 'messages', { subject: 'Draft', toRecipients: [to(FINN)], ...body }, IMMUTABLE)

test('makes a draft of JSON, whose MIME says what was asked for', async () => {
  const { status, data, headers } = await draft({
    subject: 'Größe',
    body: { contentType: 'HTML', content: '<p>Grüße</p>' },
    ccRecipients: [{ emailAddress: { address: 'c@far.test', name: 'C, D' } }],
    bccRecipients: [to('hidden@far.test')],
    importance: 'High',
    categories: ['Red', 'red', 'Blue'],
    internetMessageHeaders: [{ name: 'X-Own', value: 'yes' }],
    flag: { flagStatus: 'flagged' },
    singleValueExtendedProperties: [
      { id: 'String {66f5a359-4659-4830-9070-00047ec6ac6e} Name Own', value: 'v' },
    ],
  })
  expect(status).toBe(201)
  expect(headers.get('etag')).toBe(data['@odata.etag'])
  expect(data).toMatchObject({
    subject: 'Größe',
    isDraft: true,
    isRead: true,
    importance: 'high',
    categories: ['red', 'Blue'],
    flag: { flagStatus: 'flagged' },
    from: { emailAddress: { address: EVA, name: 'Eva Lindqvist' } },
    ccRecipients: [{ emailAddress: { address: 'c@far.test', name: 'C, D' } }],
    body: { contentType: 'html', content: '<p>Grüße</p>' },
  })
  const mime = await office.mime(EVA, data.id)
  expect(mime).toMatch(/^X-Own: yes\r$/m)
  expect(mime).toMatch(/^Bcc: hidden@far.test\r$/m)
  expect(mime).toMatch(/^Importance: high\r$/m)
  expect(mime).toContain(data.internetMessageId)
  const own =
    "singleValueExtendedProperties($filter=id eq 'String {66f5a359-4659-4830-9070-00047ec6ac6e} Name Own')"
  const read = await office.ask(EVA, 'GET', `messages/${data.id}?$expand=${encodeURIComponent(own)}`)
  expect(read.data.singleValueExtendedProperties).toMatchObject([{ value: 'v' }])
  const [listed] = await office.list(EVA, 'drafts')
  expect(listed.id).toBe(data.id)
})

test('makes a draft of MIME byte for byte', async () => {
  const headers = {
    From: EVA,
    To: FINN,
    Bcc: 'hidden@far.test',
    Date: 'Sun, 01 Mar 2026 10:00:00 +0000',
    'Message-ID': '<own@office.test>',
    'In-Reply-To': '<a@far.test>',
    References: '<a@far.test>',
    'List-Unsubscribe': '<https://far.test/u>',
    'Auto-Submitted': 'auto-generated',
    'X-Any': 'header',
    Subject: 'From MIME',
  }
  const { status, data } = await office.ask(EVA, 'POST', 'messages', mimeOf(headers), TEXT)
  expect(status).toBe(201)
  expect(data).toMatchObject({
    isDraft: true,
    internetMessageId: '<own@office.test>',
    subject: 'From MIME',
    bccRecipients: [{ emailAddress: { address: 'hidden@far.test' } }],
  })
  expect(await office.mime(EVA, data.id)).toBe(Buffer.from(mimeOf(headers), 'base64').toString())
})

test('answers MIME above 2,240 KiB with 200 and makes nothing, unless it is set to take it', async () => {
  const atLimit = 2_240 * 1024
  const mimeOfLength = (length: number) => {
    const rest = Buffer.from(mimeOf({ To: FINN, Subject: 'Long' }, 'x'), 'base64').length - 1
    return mimeOf({ To: FINN, Subject: 'Long' }, 'x'.repeat(length - rest))
  }
  expect((await office.ask(EVA, 'POST', 'messages', mimeOfLength(atLimit), TEXT)).status).toBe(201)
  const above = await office.ask(EVA, 'POST', 'messages', mimeOfLength(atLimit + 1), TEXT)
  expect(above).toMatchObject({ status: 200, data: '' })
  expect(await office.list(EVA, 'drafts')).toHaveLength(1)
  const beyond = await office.ask(EVA, 'POST', 'messages', 'A'.repeat(4 * 1024 * 1024 + 4), TEXT)
  expect(beyond.status).toBe(413)
  await office.control('PATCH', '/graph', { mimeVanishes: false })
  expect((await office.ask(EVA, 'POST', 'messages', mimeOfLength(atLimit + 1), TEXT)).status).toBe(201)
})

test.each([
  [{ internetMessageHeaders: [{ name: 'In-Reply-To', value: '<a@b>' }] }, 'InvalidInternetMessageHeader'],
  [
    { internetMessageHeaders: Array.from({ length: 6 }, (_, n) => ({ name: `x-${n}`, value: 'v' })) },
    'InvalidInternetMessageHeaderCollection',
  ],
  [{ nonsense: 1 }, 'RequestBodyRead'],
  [{ importance: 'huge' }, 'RequestBodyRead'],
  [{ toRecipients: [{ address: 'a@b.test' }] }, 'RequestBodyRead'],
  [{ attachments: [{ '@odata.type': '#microsoft.graph.fileAttachment' }] }, 'ErrorInvalidProperty'],
])('refuses the draft %j', async (body, code) => {
  expect(await draft(body)).toMatchObject({ status: 400, data: { error: { code } } })
  expect(await office.list(EVA, 'drafts')).toEqual([])
})

test('changes flags of any message, and content of drafts only', async () => {
  const id = await delivered()
  const patch = (which: string, body: object, headers = {}) =>
    office.ask(EVA, 'PATCH', `messages/${which}`, body, { ...IMMUTABLE, ...headers })
  const changed = await patch(id, {
    isRead: true,
    categories: ['A'],
    flag: { flagStatus: 'complete' },
    importance: 'low',
    inferenceClassification: 'other',
  })
  expect(changed).toMatchObject({
    status: 200,
    data: { id, isRead: true, categories: ['A'], flag: { flagStatus: 'complete' }, importance: 'low' },
  })
  for (const body of [{ subject: 'No' }, { body: { content: 'No' } }, { toRecipients: [] }])
    expect(await patch(id, body)).toMatchObject({
      status: 400,
      data: { error: { code: 'ErrorInvalidPropertySet' } },
    })
  const { data } = await office.ask(
    EVA,
    'POST',
    'messages',
    mimeOf({ To: FINN, Subject: 'Old', 'X-Kept': 'yes' }),
    TEXT,
  )
  const again = await patch(data.id, {
    subject: 'New',
    toRecipients: [to('other@far.test')],
    body: { contentType: 'text', content: 'Newer' },
  })
  expect(again).toMatchObject({ status: 200, data: { subject: 'New' } })
  const mime = await office.mime(EVA, data.id)
  expect(mime).toMatch(/^Subject: New\r$/m)
  expect(mime).toMatch(/^To: other@far.test\r$/m)
  expect(mime).toMatch(/^X-Kept: yes\r$/m)
  expect(mime).toContain(Buffer.from('Newer').toString('base64'))
  expect(mime).not.toContain('Old')
  const headers = await patch(data.id, { internetMessageHeaders: [{ name: 'x-a', value: 'b' }] })
  expect(headers.status).toBe(400)
  const stale = await patch(data.id, { isRead: false }, { 'if-match': data['@odata.etag'] })
  expect(stale).toMatchObject({ status: 412, data: { error: { code: 'ErrorIrresolvableConflict' } } })
  const fresh = await patch(data.id, { isRead: false }, { 'if-match': again.data['@odata.etag'] })
  expect(fresh.status).toBe(200)
})

test('moves and copies; the id changes without the preference, and stays with it', async () => {
  const immutable = await delivered()
  const [{ id }] = (await office.ask(EVA, 'GET', 'mailFolders/inbox/messages')).data.value
  const moved = await office.ask(EVA, 'POST', `messages/${id}/move`, { destinationId: 'archive' })
  expect(moved.status).toBe(201)
  expect(moved.data.id).not.toBe(id)
  expect((await office.ask(EVA, 'GET', `messages/${id}`)).status).toBe(404)
  const back = await office.ask(
    EVA,
    'POST',
    `messages/${immutable}/move`,
    { destinationId: 'inbox' },
    IMMUTABLE,
  )
  expect(back.data.id).toBe(immutable)
  const copy = await office.ask(
    EVA,
    'POST',
    `messages/${immutable}/copy`,
    { destinationId: 'archive' },
    IMMUTABLE,
  )
  expect(copy.status).toBe(201)
  expect(copy.data.id).not.toBe(immutable)
  expect(await office.mime(EVA, copy.data.id)).toBe(await office.mime(EVA, immutable))
  const nowhere = await office.ask(EVA, 'POST', `messages/${immutable}/move`, { destinationId: 'none' })
  expect(nowhere).toMatchObject({ status: 404, data: { error: { code: 'ErrorFolderNotFound' } } })
})

test('deletes into Deleted Items first, and there for good', async () => {
  const id = await delivered()
  const remove = () => office.ask(EVA, 'DELETE', `messages/${id}`)
  expect((await remove()).status).toBe(204)
  expect((await office.list(EVA, 'deleteditems')).map(message => message.id)).toEqual([id])
  expect((await remove()).status).toBe(204)
  expect((await remove()).status).toBe(404)
  const other = await delivered()
  expect((await office.ask(EVA, 'POST', `messages/${other}/permanentDelete`)).status).toBe(204)
  expect((await office.ask(EVA, 'GET', `messages/${other}`)).status).toBe(404)
  expect(await office.list(EVA, 'deleteditems')).toEqual([])
  expect((await office.ask('hugo@agency.test', 'POST', `messages/${other}/permanentDelete`)).status).toBe(400)
})

test('moves to the folder of messages that can be recovered, which no list of messages shows', async () => {
  const { data } = await draft({ subject: 'Recoverable' })
  const move = (destinationId: string) =>
    office.ask(EVA, 'POST', `messages/${data.id}/move`, { destinationId }, IMMUTABLE)
  expect((await move('searchfolders')).status).toBe(400)
  const moved = await move('recoverableitemsdeletions')
  expect(moved).toMatchObject({ status: 201, data: { id: data.id, subject: 'Recoverable' } })
  const { data: all } = await office.ask(
    EVA,
    'GET',
    `messages?$filter=${encodeURIComponent("subject eq 'Recoverable'")}`,
  )
  expect(all.value).toEqual([])
})

test('makes answers and forwards as drafts', async () => {
  const inner = 'Content-Type: text/plain\r\n\r\nSee'
  const file =
    'Content-Type: application/pdf; name="a.pdf"\r\nContent-Disposition: attachment; filename="a.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\nAAEC'
  const id = await delivered(
    {
      'Message-ID': '<one@far.test>',
      References: '<zero@far.test>',
      To: `${EVA}, ${FINN}`,
      Cc: 'c@far.test',
      Subject: 'Re: Plan',
      'Content-Type': 'multipart/mixed; boundary=b',
    },
    `--b\r\n${inner}\r\n--b\r\n${file}\r\n--b--`,
  )
  const make = (name: string, body?: object) =>
    office.ask(EVA, 'POST', `messages/${id}/${name}`, body, IMMUTABLE)
  const reply = await make('createReply', { comment: 'Thanks <you>' })
  const addresses = (list: { emailAddress: { address: string } }[]) =>
    list.map(({ emailAddress }) => emailAddress.address)
  expect(reply.status).toBe(201)
  expect(reply.data).toMatchObject({ isDraft: true, subject: 'RE: Plan', hasAttachments: false })
  expect(addresses(reply.data.toRecipients)).toEqual(['out@far.test'])
  expect(reply.data.body.content).toContain('Thanks &lt;you&gt;')
  expect(reply.data.body.content).toContain('See')
  const mime = await office.mime(EVA, reply.data.id)
  expect(mime).toMatch(/^In-Reply-To: <one@far.test>\r\nReferences: <zero@far.test>\r\n <one@far.test>\r$/m)
  const original = await office.ask(EVA, 'GET', `messages/${id}`)
  expect(reply.data.conversationId).toBe(original.data.conversationId)

  const all = await make('createReplyAll', { message: { subject: 'Own', body: { content: 'Mine' } } })
  expect(all.data.subject).toBe('Own')
  expect(addresses(all.data.toRecipients)).toEqual(['out@far.test', FINN])
  expect(addresses(all.data.ccRecipients)).toEqual(['c@far.test'])

  const forward = await make('createForward', { toRecipients: [to(DESK)] })
  expect(forward.data).toMatchObject({ subject: 'FW: Plan', hasAttachments: true })
  expect(addresses(forward.data.toRecipients)).toEqual([DESK])
  const { data } = await office.ask(EVA, 'GET', `messages/${forward.data.id}/attachments`)
  expect(data.value).toMatchObject([{ name: 'a.pdf', contentBytes: 'AAEC' }])
  const both = await make('createReply', { comment: 'a', message: { body: { content: 'b' } } })
  expect(both.status).toBe(400)
})

test("writes with Microsoft's own client", async () => {
  const client = await office.client(EVA)
  const made = await client.api('/me/messages').post({ subject: 'By client', toRecipients: [to(FINN)] })
  await client.api(`/me/messages/${made.id}`).patch({ subject: 'Changed' })
  const read = await client.api(`/me/messages/${made.id}`).select('subject,isDraft').get()
  expect(read).toMatchObject({ subject: 'Changed', isDraft: true })
  const moved = await client.api(`/me/messages/${made.id}/move`).post({ destinationId: 'archive' })
  await client.api(`/me/messages/${moved.id}`).delete()
  const deleted = await client.api('/me/mailFolders/deleteditems/messages').get()
  expect(deleted.value).toMatchObject([{ subject: 'Changed' }])
})
