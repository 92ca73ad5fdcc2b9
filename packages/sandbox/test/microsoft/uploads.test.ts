import { createHash, randomBytes } from 'node:crypto'
import { LargeFileUploadTask, FileUpload } from '@microsoft/microsoft-graph-client'
import { expect, test } from 'vitest'
import { IMMUTABLE } from './client.ts'
import { DESK, EVA, FINN, mimeOf, TEXT, to, useOffice } from './use-office.ts'

const office = useOffice()
const STEP = 320 * 1024
const FILE = randomBytes(14 * STEP + 17)

async function makeDraft(user = EVA, path = 'messages') {
  const { data } = await office.ask(
    user,
    'POST',
    path,
    mimeOf({ To: FINN, Subject: 'Large', 'X-Own': 'a' }),
    TEXT,
  )
  return data.id as string
}

const open = (id: string, item: object = {}, user = EVA, path = 'messages') =>
  office.ask(user, 'POST', `${path}/${id}/attachments/createUploadSession`, {
    AttachmentItem: { attachmentType: 'file', name: 'large.bin', size: FILE.length, ...item },
  })

/** Calls the URL of a session at the sandbox's host of that name. */
function call(uploadUrl: string, method: string, headers: Record<string, string> = {}, body?: Buffer) {
  const { host, pathname, search } = new URL(uploadUrl)
  const origin = office.sandbox.hosts[host]
  if (origin === undefined) throw new Error(`no host plays ${host}`)
  return fetch(`${origin}${pathname}${search}`, {
    method,
    headers,
    ...(body && { body: new Uint8Array(body) }),
  })
}

const put = (url: string, from: number, end: number, total = FILE.length, headers = {}) =>
  call(
    url,
    'PUT',
    { 'content-range': `bytes ${from}-${end - 1}/${total}`, ...headers },
    FILE.subarray(from, end),
  )

async function expected(response: Response): Promise<string[]> {
  const { nextExpectedRanges } = (await response.json()) as { nextExpectedRanges: string[] }
  return nextExpectedRanges
}

const errorCode = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { code: string } }).error.code

test('takes a large file by ranges, and sends it', async () => {
  const id = await makeDraft()
  const { status, data } = await open(id, { contentType: 'image/png', isInline: true, contentId: 'pic' })
  expect(status).toBe(201)
  expect(data.nextExpectedRanges).toEqual(['0-'])
  expect(new URL(data.uploadUrl).host).toBe('outlook.office.com')
  expect(await expected(await put(data.uploadUrl, 0, 8 * STEP))).toEqual([String(8 * STEP)])
  expect(await expected(await call(data.uploadUrl, 'GET'))).toEqual([String(8 * STEP)])
  const last = await put(data.uploadUrl, 8 * STEP, FILE.length)
  expect(last.status).toBe(201)
  expect(last.headers.get('location')).toContain('/Attachments(')
  expect((await call(data.uploadUrl, 'GET')).status).toBe(404)
  const { data: listed } = await office.ask(EVA, 'GET', `messages/${id}/attachments`)
  expect(listed.value).toMatchObject([
    { name: 'large.bin', size: FILE.length, contentType: 'image/png', isInline: true, contentId: 'pic' },
  ])
  expect(Buffer.from(listed.value[0].contentBytes, 'base64').equals(FILE)).toBe(true)
  expect((await office.ask(EVA, 'POST', `messages/${id}/send`)).status).toBe(202)
  const [got] = await office.list(FINN, 'inbox')
  const mime = await office.mime(FINN, got.id)
  expect(mime).toMatch(/^X-Own: a\r$/m)
  expect(mime).toContain(FILE.subarray(0, 57).toString('base64'))
})

test('refuses ranges that do not follow, steps of other sizes, and tokens beside the URL', async () => {
  const { data } = await open(await makeDraft())
  const url = data.uploadUrl
  expect((await put(url, STEP, 2 * STEP)).status).toBe(416)
  expect((await put(url, 0, STEP, FILE.length + 1)).status).toBe(416)
  expect((await put(url, 0, STEP + 1)).status).toBe(400)
  expect((await put(url, 0, STEP)).status).toBe(200)
  const again = await put(url, 0, STEP)
  expect([again.status, await errorCode(again)]).toEqual([416, 'ErrorInvalidRange'])
  expect((await call(url, 'PUT', {}, FILE.subarray(0, 10))).status).toBe(400)
  expect((await put(url, STEP, FILE.length)).status).toBe(413)
  const token = await office.token(EVA)
  expect((await put(url, STEP, 2 * STEP, FILE.length, { authorization: `Bearer ${token}` })).status).toBe(401)
  expect((await put(url.replace(/authtoken=.{9}/, 'authtoken=x'), STEP, 2 * STEP)).status).toBe(401)
  expect((await call(url, 'DELETE')).status).toBe(204)
  expect((await put(url, STEP, 2 * STEP)).status).toBe(404)
})

test('ends a session after its time', async () => {
  const { data } = await open(await makeDraft())
  await office.control('POST', '/clock', { now: data.expirationDateTime })
  expect((await put(data.uploadUrl, 0, STEP)).status).toBe(404)
})

test('ends a session with its draft', async () => {
  const id = await makeDraft()
  const other = await open(id)
  await put(other.data.uploadUrl, 0, 8 * STEP)
  await office.ask(EVA, 'POST', `messages/${id}/send`)
  expect((await put(other.data.uploadUrl, 8 * STEP, FILE.length)).status).toBe(404)
})

test.each([
  [{ size: 3_000_000 - 1 }, 'ErrorAttachmentSizeShouldNotBeLessThanMinimumSize'],
  [{ size: 150 * 1024 * 1024 + 1 }, 'ErrorAttachmentSizeLimitExceeded'],
  [{ attachmentType: 'item' }, 'ErrorInvalidRequest'],
  [{ name: '' }, 'ErrorInvalidRequest'],
])('opens no session for %j', async (item, code) => {
  expect(await open(await makeDraft(), item)).toMatchObject({ status: 400, data: { error: { code } } })
})

test('has sessions where the cloud has them, and for shared mailboxes while they work', async () => {
  const jun = 'jun@shanghai.test'
  const china = await open(await makeDraft(jun), {}, jun)
  expect(new URL(china.data.uploadUrl).host).toBe('partner.outlook.cn')
  expect((await put(china.data.uploadUrl, 0, STEP)).status).toBe(200)
  const elsewhere = china.data.uploadUrl.replace('partner.outlook.cn', 'outlook.office.com')
  expect((await put(elsewhere, STEP, 2 * STEP)).status).toBe(404)
  const hugo = 'hugo@agency.test'
  expect((await open(await makeDraft(hugo), {}, hugo)).status).toBe(400)
  const path = `/v1.0/users/${DESK}/messages`
  const shared = await makeDraft(EVA, path)
  expect((await open(shared, {}, EVA, path)).status).toBe(201)
  await office.control('PATCH', '/graph', { sharedUploads: 'fail' })
  expect((await open(shared, {}, EVA, path)).status).toBe(403)
})

test('attaches files, messages and links to a draft, and takes them away', async () => {
  const id = await makeDraft()
  const add = (attachment: object) =>
    office.ask(EVA, 'POST', `messages/${id}/attachments`, attachment, IMMUTABLE)
  const file = await add({
    '@odata.type': '#microsoft.graph.fileAttachment',
    name: 'Übersicht.bin',
    contentBytes: 'AAEC',
  })
  expect(file).toMatchObject({
    status: 201,
    data: { '@odata.type': '#microsoft.graph.fileAttachment', name: 'Übersicht.bin', size: 3 },
  })
  const item = await add({
    '@odata.type': '#microsoft.graph.itemAttachment',
    name: 'Note',
    item: {
      '@odata.type': '#microsoft.graph.message',
      subject: 'Note',
      body: { contentType: 'html', content: '<b>In</b>' },
      toRecipients: [to(FINN)],
    },
  })
  const link = await add({
    '@odata.type': '#microsoft.graph.referenceAttachment',
    name: 'Plan',
    sourceUrl: 'https://files.far.test/plan',
  })
  expect([item.status, link.status]).toEqual([201, 201])
  const list = () => office.ask(EVA, 'GET', `messages/${id}/attachments?$select=name`)
  const names = async () => (await list()).data.value.map(({ name }: { name: string }) => name)
  expect(await names()).toEqual(['Übersicht.bin', 'Note', 'Plan'])
  const inner = await office.ask(
    EVA,
    'GET',
    `messages/${id}/attachments/${item.data.id}?$expand=microsoft.graph.itemAttachment/item`,
  )
  expect(inner.data.item).toMatchObject({ subject: 'Note', body: { content: '<b>In</b>' } })
  const value = await office.ask(EVA, 'GET', `messages/${id}/attachments/${item.data.id}/$value`)
  expect(value.data).toContain('Subject: Note')
  const remove = (attachment: string) => office.ask(EVA, 'DELETE', `messages/${id}/attachments/${attachment}`)
  expect((await remove(link.data.id)).status).toBe(204)
  expect((await remove(file.data.id)).status).toBe(204)
  expect(await names()).toEqual(['Note'])
  expect((await remove(link.data.id)).status).toBe(404)
  expect((await add({ name: 'untyped' })).status).toBe(400)
  const large = Buffer.alloc(3 * 1024 * 1024 + 300_000).toString('base64')
  const beyond = await add({
    '@odata.type': '#microsoft.graph.fileAttachment',
    name: 'big',
    contentBytes: large,
  })
  expect(beyond.status).toBe(413)
})

test('names attachments by another id in each answer, if it is set to', async () => {
  const id = await makeDraft()
  const file = { '@odata.type': '#microsoft.graph.fileAttachment', name: 'a', contentBytes: 'AAEC' }
  const kept = await office.ask(EVA, 'POST', `messages/${id}/attachments`, file)
  await office.control('PATCH', '/graph', { attachmentIds: 'changing' })
  const ids = new Set<string>([kept.data.id])
  for (let read = 0; read < 3; read += 1) {
    const { data } = await office.ask(EVA, 'GET', `messages/${id}/attachments?$select=name`)
    ids.add(data.value[0].id)
  }
  expect(ids.size).toBe(4)
  for (const each of ids)
    expect((await office.ask(EVA, 'GET', `messages/${id}/attachments/${each}`)).data.contentBytes).toBe(
      'AAEC',
    )
})

test("uploads with Microsoft's own client", async () => {
  const client = await office.client(EVA)
  const id = await makeDraft()
  const session = await LargeFileUploadTask.createUploadSession(
    client,
    `/me/messages/${id}/attachments/createUploadSession`,
    { AttachmentItem: { attachmentType: 'file', name: 'x.bin', size: FILE.length } },
  )
  const file = new FileUpload(Uint8Array.from(FILE), 'x.bin', FILE.length)
  const { location } = await new LargeFileUploadTask(client, file, session, { rangeSize: 4 * STEP }).upload()
  expect(location).toContain('/Attachments(')
  const { data } = await office.ask(EVA, 'GET', `messages/${id}/attachments`)
  const [{ contentBytes }] = data.value
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  expect(hash(Buffer.from(contentBytes, 'base64'))).toBe(hash(FILE))
})
