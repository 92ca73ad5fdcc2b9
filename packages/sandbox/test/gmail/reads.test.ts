import { expect, test } from 'vitest'
import { useGmail } from './use-gmail.ts'

const gmail = useGmail()

test('lists every message once over the pages, newest first, and finds spam and trash if asked', async () => {
  const { users } = await gmail.client('ada@gmail.test')
  const ids: string[] = []
  let pageToken: string | undefined
  do {
    const page = await gmail.checked(
      'messages',
      users.messages.list({ userId: 'me', maxResults: 30, includeSpamTrash: true, pageToken }, gmail.options),
    )
    ids.push(...(page.messages ?? []).map(({ id }) => id as string))
    pageToken = page.nextPageToken ?? undefined
  } while (pageToken)
  const profile = await gmail.checked(
    'profile',
    users.getProfile({ userId: 'ada@gmail.test' }, gmail.options),
  )
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toHaveLength(profile.messagesTotal as number)
  const shown = await gmail.checked(
    'messages',
    users.messages.list({ userId: 'me', maxResults: 500 }, gmail.options),
  )
  const hidden = await Promise.all(
    ['SPAM', 'TRASH'].map(async id =>
      gmail.checked('messages', users.messages.list({ userId: 'me', labelIds: [id] }, gmail.options)),
    ),
  )
  const count = (page: { messages?: unknown[] }): number => page.messages?.length ?? 0
  expect(hidden.every(page => count(page) > 0)).toBe(true)
  expect(count(shown) + hidden.reduce((sum, page) => sum + count(page), 0)).toBe(ids.length)
})

test('gives the exact bytes of every message, and the same in its parts', async () => {
  const { users } = await gmail.client('cleo@corp.test')
  const { messages = [] } = await gmail.checked(
    'messages',
    users.messages.list({ userId: 'me', maxResults: 60 }, gmail.options),
  )
  for (const { id } of messages) {
    const get = async (format: string) =>
      gmail.checked('message', users.messages.get({ userId: 'me', id: id as string, format }, gmail.options))
    const [full, raw, metadata, minimal] = await Promise.all(['full', 'raw', 'metadata', 'minimal'].map(get))
    const bytes = Buffer.from(raw?.raw ?? '', 'base64url')
    expect(raw?.sizeEstimate).toBe(bytes.length)
    expect(metadata?.payload?.headers).toEqual(full?.payload?.headers)
    expect(minimal).not.toHaveProperty('payload')
    for (const part of partsOf(full?.payload ?? {})) {
      if (part.mimeType?.startsWith('multipart/')) expect(part.body).toEqual({ size: 0 })
      else if (part.filename) expect(part.body?.attachmentId).toBeTruthy()
      else if (part.body?.size)
        expect(Buffer.from(part.body.data ?? '', 'base64url')).toHaveLength(part.body.size)
    }
  }
})

test('gives an attachment another id in each answer, and all of them work', async () => {
  const { users } = await gmail.client('ada@gmail.test')
  const { messages = [] } = await gmail.checked(
    'messages',
    users.messages.list({ userId: 'me', q: 'filename:report.pdf' }, gmail.options),
  )
  const id = messages[0]?.id as string
  const ids = await Promise.all(
    [1, 2].map(async () => {
      const message = await gmail.checked('message', users.messages.get({ userId: 'me', id }, gmail.options))
      return [...partsOf(message.payload ?? {})].find(part => part.filename === 'report.pdf')?.body
        ?.attachmentId as string
    }),
  )
  expect(ids[0]).not.toBe(ids[1])
  const bodies = await Promise.all(
    ids.map(async attachment =>
      gmail.checked(
        'attachment',
        users.messages.attachments.get({ userId: 'me', messageId: id, id: attachment }, gmail.options),
      ),
    ),
  )
  expect(bodies[0]?.data).toBe(bodies[1]?.data)
  expect(bodies[0]?.size).toBeGreaterThan(0)
  const wrong = await users.messages.attachments.get(
    { userId: 'me', messageId: id, id: 'nope' },
    gmail.options,
  )
  expect(wrong.status).toBe(400)
})

test('keeps of an answer what a mask of fields names, and refuses names that it does not know', async () => {
  const token = await gmail.token('ada@gmail.test')
  const { data } = await gmail.ask(token, 'GET', 'messages?maxResults=1')
  const id = data.messages[0].id as string
  const masked = async (fields: string) =>
    gmail.ask(token, 'GET', `messages/${id}?fields=${encodeURIComponent(fields)}`)
  expect(Object.keys((await masked('id,labelIds,payload(mimeType,headers/name)')).data)).toEqual([
    'id',
    'labelIds',
    'payload',
  ])
  expect((await masked('payload/mimeType')).data).toEqual({ payload: { mimeType: expect.any(String) } })
  expect((await masked('*')).data).toEqual((await gmail.ask(token, 'GET', `messages/${id}`)).data)
  for (const fields of ['nope', 'payload(nope)', 'id/x', 'payload(mimeType', 'id,,id'])
    expect((await masked(fields)).data.error.errors[0]).toMatchObject({
      reason: 'invalidParameter',
      location: 'fields',
    })
})

test('lists threads by their newest message, and gives their messages oldest first', async () => {
  const { users } = await gmail.client('ben@gmail.test')
  const page = await gmail.checked(
    'threads',
    users.threads.list({ userId: 'me', maxResults: 50 }, gmail.options),
  )
  const threads = await Promise.all(
    (page.threads ?? []).map(async ({ id }) =>
      gmail.checked(
        'thread',
        users.threads.get({ userId: 'me', id: id as string, format: 'metadata' }, gmail.options),
      ),
    ),
  )
  expect(threads.some(thread => (thread.messages?.length ?? 0) >= 3)).toBe(true)
  for (const { id, messages = [] } of threads) {
    const dates = messages.map(message => Number(message.internalDate))
    expect(dates).toEqual(dates.toSorted((a, b) => a - b))
    expect(messages.every(message => message.threadId === id)).toBe(true)
  }
})

test('counts labels only when one is asked for', async () => {
  const { users } = await gmail.client('ada@gmail.test')
  const { labels = [] } = await gmail.checked('labels', users.labels.list({ userId: 'me' }, gmail.options))
  expect(labels.some(label => 'messagesTotal' in label)).toBe(false)
  const inbox = await gmail.checked('label', users.labels.get({ userId: 'me', id: 'INBOX' }, gmail.options))
  const unread = await gmail.checked(
    'messages',
    users.messages.list({ userId: 'me', labelIds: ['INBOX', 'UNREAD'], maxResults: 500 }, gmail.options),
  )
  expect(inbox.messagesUnread).toBe(unread.messages?.length)
  expect(inbox.threadsUnread).toBe(new Set(unread.messages?.map(({ threadId }) => threadId)).size)
})

test.each([
  ['messages/1234', 404, 'notFound'],
  ['messages?labelIds=Label_none', 400, 'invalidArgument'],
  ['messages?pageToken=x', 400, 'invalidArgument'],
  ['messages?maxResults=-1', 400, 'invalidArgument'],
  ['messages?colour=red', 400, 'invalidArgument'],
  ['history', 400, 'invalidArgument'],
  ['history?startHistoryId=1', 404, 'notFound'],
  ['nothing', 404, 'notFound'],
  ['/gmail/v1/users/ben@gmail.test/profile', 403, 'forbidden'],
])('refuses %s with %i %s', async (path, status, reason) => {
  const answer = await gmail.ask(await gmail.token('ada@gmail.test'), 'GET', path)
  expect(answer.status).toBe(status)
  expect(answer.data.error).toMatchObject({ code: status, errors: [{ reason }] })
})

interface Part {
  mimeType?: string | null
  filename?: string | null
  body?: { attachmentId?: string | null; size?: number | null; data?: string | null }
  parts?: Part[]
}

function* partsOf(part: Part): Generator<Part> {
  yield part
  for (const child of part.parts ?? []) yield* partsOf(child)
}
