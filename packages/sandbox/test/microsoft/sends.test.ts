import { expect, test, vi } from 'vitest'
import { IMMUTABLE } from './client.ts'
import { ADA, DESK, EVA, FINN, mimeOf, TEXT, to, useOffice } from './use-office.ts'

const office = useOffice()

const HEADERS = {
  From: EVA,
  To: FINN,
  Cc: ADA,
  Bcc: DESK,
  'Message-ID': '<own@office.test>',
  'In-Reply-To': '<a@far.test>',
  References: '<a@far.test>',
  'List-Unsubscribe': '<https://far.test/u>',
  'Auto-Submitted': 'auto-generated',
  'X-Waxwing-Outbox': 'row',
  Subject: 'Sent',
}

async function makeDraft(headers: Record<string, string> = HEADERS, user = EVA, path = 'messages') {
  const { status, data } = await office.ask(user, 'POST', path, mimeOf(headers), TEXT)
  expect(status).toBe(201)
  return data.id as string
}

const send = (id: string, user = EVA) => office.ask(user, 'POST', `messages/${id}/send`)
const state = (id: string) => office.ask(EVA, 'GET', `messages/${id}?$select=isDraft,parentFolderId`)

test('sends a draft: the copy keeps its id and every header, and recipients get all but Bcc', async () => {
  const id = await makeDraft()
  const sent = await send(id)
  expect(sent).toMatchObject({ status: 202, data: '' })
  expect(await office.list(EVA, 'drafts')).toEqual([])
  const [copy] = await office.list(EVA, 'sentitems')
  expect(copy).toMatchObject({ id, isDraft: false, isRead: true, internetMessageId: '<own@office.test>' })
  const own = await office.mime(EVA, id)
  for (const [name, value] of Object.entries(HEADERS)) expect(own).toContain(`${name}: ${value}\r\n`)
  for (const user of [FINN, DESK]) {
    const [got] = await office.list(user, 'inbox')
    expect(got).toMatchObject({ isRead: false, isDraft: false, internetMessageId: '<own@office.test>' })
    const mime = await office.mime(user, got.id)
    for (const [name, value] of Object.entries(HEADERS))
      if (name !== 'Bcc') expect(mime).toContain(`${name}: ${value}\r\n`)
    expect(mime).not.toMatch(/^Bcc/im)
  }
  expect((await send(id)).status).toBe(400)
})

test('delivers to Gmail, and takes what Gmail sends', async () => {
  await send(await makeDraft())
  const { data } = await office.control('POST', '/grants', {
    user: ADA,
    clientId: 'sandbox',
    scopes: ['https://mail.google.com/'],
  })
  const gmail = (path: string, body?: object) =>
    fetch(`${office.sandbox.hosts['gmail.googleapis.com']}/gmail/v1/users/me/${path}`, {
      headers: { authorization: `Bearer ${data.accessToken}` },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    }).then(answer => answer.json() as Promise<{ messages: { id: string }[]; raw: string }>)
  const { messages } = await gmail('messages')
  const got = await gmail(`messages/${messages[0]?.id}?format=raw`)
  const raw = Buffer.from(got.raw, 'base64url').toString()
  expect(raw).toContain('Message-ID: <own@office.test>')
  expect(raw).toContain(`Return-Path: <${EVA}>`)
  const answer = Buffer.from(
    mimeOf({ To: EVA, 'In-Reply-To': '<own@office.test>', Subject: 'Re: Sent' }),
    'base64',
  )
  await gmail('messages/send', { raw: answer.toString('base64url') })
  const [reply] = await office.list(EVA, 'inbox', 'subject,from,conversationId')
  const [copy] = await office.list(EVA, 'sentitems', 'conversationId')
  expect(reply).toMatchObject({ subject: 'Re: Sent', from: { emailAddress: { address: ADA } } })
  expect(reply.conversationId).toBe(copy.conversationId)
})

test('sends JSON and MIME at once, with and without a copy', async () => {
  const sendMail = (body: unknown, headers = {}) => office.ask(EVA, 'POST', 'sendMail', body, headers)
  const attachment = {
    '@odata.type': '#microsoft.graph.fileAttachment',
    name: 'a.bin',
    contentBytes: 'AAEC',
  }
  const message = { subject: 'One', toRecipients: [to(FINN)], body: { content: 'Hi' } }
  expect((await sendMail({ message })).status).toBe(202)
  expect((await sendMail({ message: { ...message, attachments: [attachment] } })).status).toBe(202)
  expect((await sendMail({ message, saveToSentItems: false })).status).toBe(202)
  expect((await sendMail(mimeOf({ To: FINN, Subject: 'Two' }), TEXT)).status).toBe(202)
  const subjects = async (user: string, folder: string) =>
    (await office.list(user, folder)).map(({ subject }) => subject).toReversed()
  expect(await subjects(EVA, 'sentitems')).toEqual(['One', 'One', 'Two'])
  expect(await subjects(FINN, 'inbox')).toEqual(['One', 'One', 'One', 'Two'])
  expect(await office.list(EVA, 'drafts')).toEqual([])
  const [, second] = (await office.list(FINN, 'inbox')).toReversed()
  const { data } = await office.ask(FINN, 'GET', `messages/${second.id}/attachments`)
  expect(data.value).toMatchObject([{ name: 'a.bin', contentBytes: 'AAEC' }])
})

test.each([
  [{ To: '', Subject: 'None' }, 400, 'ErrorInvalidRecipients'],
  [{ From: FINN, To: ADA }, 403, 'ErrorSendAsDenied'],
])('refuses to send %j', async (headers, status, code) => {
  const id = await makeDraft(headers)
  expect(await send(id)).toMatchObject({ status, data: { error: { code } } })
  expect((await state(id)).data.isDraft).toBe(true)
  const once = await office.ask(EVA, 'POST', 'sendMail', mimeOf(headers), TEXT)
  expect(once).toMatchObject({ status, data: { error: { code } } })
  expect(await office.list(EVA, 'sentitems')).toEqual([])
})

test('files the copy late: the draft is gone before the copy is there, under the same id', async () => {
  await office.control('PATCH', '/graph', { lateCopySeconds: 60 })
  const id = await makeDraft()
  await send(id)
  expect((await state(id)).status).toBe(404)
  expect(await office.list(EVA, 'drafts')).toEqual([])
  expect(await office.list(EVA, 'sentitems')).toEqual([])
  expect(await office.list(FINN, 'inbox')).toHaveLength(1)
  await office.control('POST', '/clock', { advanceSeconds: 59 })
  expect(await office.list(EVA, 'sentitems')).toEqual([])
  await office.control('POST', '/clock', { advanceSeconds: 2 })
  expect((await office.list(EVA, 'sentitems')).map(message => message.id)).toEqual([id])
  expect((await state(id)).data.isDraft).toBe(false)
})

test('files a late copy when its time has come, without a turn of the clock', async () => {
  await office.control('PATCH', '/graph', { lateCopySeconds: 0.2 })
  const id = await makeDraft()
  await send(id)
  const copies = () => office.list(EVA, 'sentitems')
  await vi.waitUntil(async () => (await copies()).length === 1, { timeout: 60_000, interval: 20 })
  expect((await copies())[0].id).toBe(id)
})

test('keeps the links of a draft at the sent copy', async () => {
  const id = await makeDraft()
  await office.ask(EVA, 'POST', `messages/${id}/attachments`, {
    '@odata.type': '#microsoft.graph.referenceAttachment',
    name: 'Plan',
    sourceUrl: 'https://files.far.test/plan',
  })
  await send(id)
  const { data } = await office.ask(EVA, 'GET', `messages/${id}/attachments`)
  expect(data.value).toMatchObject([{ name: 'Plan' }])
})

test('sends from a shared mailbox as a delegate, and files the copy there or at the delegate', async () => {
  const shared = `/v1.0/users/${DESK}`
  const sendShared = async () => {
    const id = await makeDraft({ From: DESK, To: ADA, Subject: 'Shared' }, EVA, `${shared}/messages`)
    return office.ask(EVA, 'POST', `${shared}/messages/${id}/send`)
  }
  expect((await sendShared()).status).toBe(202)
  expect(await office.list(DESK, 'sentitems')).toHaveLength(1)
  await office.control('PATCH', '/graph', { copyIn: 'delegate' })
  expect((await sendShared()).status).toBe(202)
  expect(await office.list(DESK, 'sentitems')).toHaveLength(1)
  expect(await office.list(DESK, 'drafts')).toEqual([])
  expect(await office.list(EVA, 'sentitems')).toMatchObject([{ from: { emailAddress: { address: DESK } } }])
  const asDesk = await office.ask(
    EVA,
    'POST',
    'sendMail',
    mimeOf({ From: DESK, To: FINN, Subject: 'As' }),
    TEXT,
  )
  expect(asDesk.status).toBe(202)
  const stranger = await office.ask(FINN, 'POST', `${shared}/sendMail`, mimeOf({ To: ADA }), TEXT)
  expect(stranger.status).toBe(404)
})

test('needs the permission to send', async () => {
  const token = await office.token(EVA, ['Mail.ReadWrite'])
  const id = await makeDraft()
  const refused = await office.ask(EVA, 'POST', `messages/${id}/send`, undefined, {
    authorization: `Bearer ${token}`,
  })
  expect(refused).toMatchObject({ status: 403, data: { error: { code: 'ErrorAccessDenied' } } })
})

test('lets a mailbox send 30 messages a minute', async () => {
  await office.control('PATCH', '/graph', { limits: 'on' })
  const once = () => office.ask(EVA, 'POST', 'sendMail', mimeOf({ To: 'x@far.test' }), TEXT)
  for (let sent = 0; sent < 30; sent += 1) expect((await once()).status).toBe(202)
  const refused = await once()
  expect(refused).toMatchObject({ status: 429, data: { error: { code: 'ApplicationThrottled' } } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  await office.control('POST', '/clock', { advanceSeconds: 61 })
  expect((await once()).status).toBe(202)
})

test("sends with Microsoft's own client", async () => {
  const client = await office.client(EVA)
  const draft = await client.api('/me/messages').post({ subject: 'C', toRecipients: [to(FINN)] })
  await client.api(`/me/messages/${draft.id}/send`).post({})
  await client.api('/me/sendMail').post({ message: { subject: 'D', toRecipients: [to(FINN)] } })
  const sent = await client.api('/me/mailFolders/sentitems/messages').get()
  expect(sent.value.map(({ subject }: { subject: string }) => subject).toSorted()).toEqual(['C', 'D'])
})

test('answers and forwards at once', async () => {
  await office.ask(FINN, 'POST', 'sendMail', mimeOf({ To: EVA, Subject: 'Ask' }), TEXT)
  const [{ id }] = await office.list(EVA, 'inbox')
  for (const [way, body] of [
    ['reply', { comment: 'Yes' }],
    ['forward', { comment: 'See', toRecipients: [to(DESK)] }],
  ] as const)
    expect((await office.ask(EVA, 'POST', `messages/${id}/${way}`, body, IMMUTABLE)).status).toBe(202)
  expect(await office.list(FINN, 'inbox')).toMatchObject([{ subject: 'RE: Ask' }])
  expect(await office.list(DESK, 'inbox')).toMatchObject([{ subject: 'FW: Ask' }])
})
