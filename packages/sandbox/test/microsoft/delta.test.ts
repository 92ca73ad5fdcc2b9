import { expect, test } from 'vitest'
import { wellKnownFolder } from '../../src/microsoft/mailbox/mailbox.ts'
import {
  addMessage,
  changeMessage,
  moveMessage,
  removeMessage,
} from '../../src/microsoft/mailbox/messages.ts'
import type { Message } from '../../src/microsoft/mailbox/message.ts'
import type { User } from '../../src/world/users.ts'
import { letter } from '../letter.ts'
import { IMMUTABLE } from './client.ts'
import { useGraph } from './use-graph.ts'

const graph = useGraph()
const INBOX = 'mailFolders/inbox/messages/delta'
const DAY_MS = 24 * 3600 * 1000

const ids = (items: { id: string }[]) => items.map(({ id }) => id)

/** A user with some messages in the inbox, the newest first. */
function arrange(count = 3): { eva: User; messages: Message[]; add(at?: number): Message } {
  const eva = graph.addUser('eva@office.test')
  const mailbox = graph.mailbox(eva)
  const folder = wellKnownFolder(mailbox, 'inbox')
  let made = 0
  const add = (at = graph.clock.now() - DAY_MS + made * 1000) => {
    const raw = letter({ Subject: `Message ${made++}`, From: 'ada@office.test' })
    return addMessage(mailbox, { folder, raw, fields: { receivedAt: at } })
  }
  return { eva, messages: Array.from({ length: count }, () => add()).toReversed(), add }
}

const to = (user: User, message: Message, name: 'archive' | 'inbox') =>
  moveMessage(graph.mailbox(user), message, wellKnownFolder(graph.mailbox(user), name))

test('walks a folder newest first in pages of 10, or of the size that the client prefers', async () => {
  const { eva, messages } = arrange(25)
  const first = await graph.ask(eva, 'GET', `${INBOX}?$select=subject`)
  expect(first.data.value).toHaveLength(10)
  expect(first.data.value[0]).toEqual({
    '@odata.type': '#microsoft.graph.message',
    '@odata.etag': expect.any(String),
    id: messages[0]?.id,
    subject: 'Message 24',
  })
  const all = await graph.deltaFrom(eva, `${INBOX}?$select=subject`, { prefer: 'odata.maxpagesize=7' })
  expect(all.pages).toBe(4)
  expect(ids(all.items)).toEqual(ids(messages))
  const preferred = await graph.ask(eva, 'GET', INBOX, undefined, { prefer: 'odata.maxpagesize=7' })
  expect(preferred.headers.get('preference-applied')).toBe('odata.maxpagesize=7')
})

test('reports new, changed and deleted messages once, and then nothing', async () => {
  const { eva, messages, add } = arrange()
  const first = await graph.deltaFrom(eva, INBOX, IMMUTABLE)
  const [one, two] = messages as [Message, Message, Message]
  const mailbox = graph.mailbox(eva)
  changeMessage(mailbox, one, { isRead: true })
  changeMessage(mailbox, one, { categories: ['Red category'] })
  removeMessage(mailbox, two)
  const made = add()
  removeMessage(mailbox, add())
  const second = await graph.deltaFrom(eva, first.link, IMMUTABLE)
  expect(second.items).toEqual([
    expect.objectContaining({ id: one.immutableId, isRead: true, categories: ['Red category'] }),
    { '@odata.type': '#microsoft.graph.message', '@removed': { reason: 'deleted' }, id: two.immutableId },
    expect.objectContaining({ id: made.immutableId, isDraft: false }),
  ])
  expect((await graph.deltaFrom(eva, second.link, IMMUTABLE)).items).toEqual([])
  expect(ids((await graph.deltaFrom(eva, first.link, IMMUTABLE)).items)).toEqual(ids(second.items))
})

test('finishes a walk during which messages come, go and change', async () => {
  const { eva, messages, add } = arrange(30)
  const mailbox = graph.mailbox(eva)
  const first = await graph.ask(eva, 'GET', INBOX, undefined, IMMUTABLE)
  const made = add(graph.clock.now())
  to(eva, messages[29] as Message, 'archive')
  changeMessage(mailbox, messages[0] as Message, { isRead: true })
  const rest = await graph.deltaFrom(eva, first.data['@odata.nextLink'], IMMUTABLE)
  expect([...first.data.value, ...rest.items]).toHaveLength(29)
  const next = await graph.deltaFrom(eva, rest.link, IMMUTABLE)
  expect(next.items.map(item => [item.id, '@removed' in item])).toEqual([
    [made.immutableId, false],
    [messages[29]?.immutableId, true],
    [messages[0]?.immutableId, false],
  ])
})

test('reports a move as removed from one folder, and by the other with or without its arrival', async () => {
  const { eva, messages } = arrange()
  const [one] = messages as [Message]
  const inbox = await graph.deltaFrom(eva, INBOX, IMMUTABLE)
  const archive = await graph.deltaFrom(eva, 'mailFolders/archive/messages/delta', IMMUTABLE)
  to(eva, one, 'archive')
  expect((await graph.deltaFrom(eva, inbox.link, IMMUTABLE)).items).toEqual([
    expect.objectContaining({ id: one.immutableId, '@removed': { reason: 'deleted' } }),
  ])
  expect(ids((await graph.deltaFrom(eva, archive.link, IMMUTABLE)).items)).toEqual([one.immutableId])

  graph.mail.configure({ arrivals: 'lost' })
  to(eva, one, 'inbox')
  const back = await graph.deltaFrom(eva, inbox.link, IMMUTABLE)
  expect(back.items, 'moved away and back, and never reported again').toEqual([
    expect.objectContaining({ id: one.immutableId, '@removed': { reason: 'deleted' } }),
  ])
  const { status, data } = await graph.ask(eva, 'GET', `messages/${one.immutableId}?$select=parentFolderId`)
  expect([status, data.parentFolderId]).toEqual([200, wellKnownFolder(graph.mailbox(eva), 'inbox').id])
  changeMessage(graph.mailbox(eva), one, { isRead: true })
  expect((await graph.deltaFrom(eva, back.link, IMMUTABLE)).items).toEqual([
    expect.objectContaining({ id: one.immutableId, isRead: true }),
  ])
})

test('reports some arrivals of moved messages, if it is set to lose them at random', async () => {
  const { eva, messages } = arrange(20)
  const archive = await graph.deltaFrom(eva, 'mailFolders/archive/messages/delta', IMMUTABLE)
  graph.mail.configure({ arrivals: 'random' })
  for (const message of messages) to(eva, message, 'archive')
  const { items } = await graph.deltaFrom(eva, archive.link, IMMUTABLE)
  expect(items.length).toBeGreaterThan(0)
  expect(items.length).toBeLessThan(messages.length)
})

test('names a moved message by another id without the preference for immutable ids', async () => {
  const { eva, messages } = arrange()
  const [one] = messages as [Message]
  const before = one.id
  const first = await graph.deltaFrom(eva, INBOX)
  expect(ids(first.items)).toContain(before)
  to(eva, one, 'archive')
  to(eva, one, 'inbox')
  const second = await graph.deltaFrom(eva, first.link)
  expect(second.items.map(item => [item.id, '@removed' in item])).toEqual([
    [before, true],
    [one.id, false],
  ])
  expect((await graph.ask(eva, 'GET', `messages/${before}`)).status).toBe(404)
})

test('ends a query with a filter after 5,000 messages as if there were no more', async () => {
  const { eva } = arrange(5_100)
  const since = new Date(graph.clock.now() - 2 * DAY_MS).toISOString()
  const prefer = { prefer: 'odata.maxpagesize=1000' }
  const filtered = await graph.deltaFrom(
    eva,
    `${INBOX}?$select=id&$filter=receivedDateTime ge ${since}`,
    prefer,
  )
  expect(filtered.items).toHaveLength(5_000)
  expect((await graph.deltaFrom(eva, `${INBOX}?$select=id`, prefer)).items).toHaveLength(5_100)
})

test('reports only messages that a filter lets through, in later rounds too', async () => {
  const { eva, add } = arrange(3)
  const old = add(graph.clock.now() - 9 * DAY_MS)
  const since = new Date(graph.clock.now() - 2 * DAY_MS).toISOString()
  const first = await graph.deltaFrom(eva, `${INBOX}?$filter=receivedDateTime ge ${since}`)
  expect(first.items).toHaveLength(3)
  changeMessage(graph.mailbox(eva), old, { isRead: true })
  const made = add()
  expect(ids((await graph.deltaFrom(eva, first.link)).items)).toEqual([made.id])
})

test('expires links on demand: within a round, or between two', async () => {
  const { eva } = arrange(25)
  const { data } = await graph.ask(eva, 'GET', `${INBOX}?$select=subject`)
  const whole = await graph.deltaFrom(eva, `${INBOX}?$select=subject`)
  graph.mail.expire({ user: eva, at: 'next' })
  const next = await graph.ask(eva, 'GET', data['@odata.nextLink'])
  expect([next.status, next.data.error.code]).toEqual([410, 'SyncStateNotFound'])
  expect((await graph.ask(eva, 'GET', whole.link)).status).toBe(200)
  graph.mail.expire({ user: null, at: 'delta' })
  expect((await graph.ask(eva, 'GET', whole.link)).status).toBe(410)
  const again = await graph.deltaFrom(eva, `${INBOX}?$select=subject`)
  expect((await graph.ask(eva, 'GET', again.link)).status).toBe(200)
})

test('refuses links of another folder, selection or preference, and what delta does not take', async () => {
  const { eva } = arrange(25)
  const { link } = await graph.deltaFrom(eva, `${INBOX}?$select=subject`, IMMUTABLE)
  const refused = async (path: string, headers = {}) => {
    const { status, data } = await graph.ask(eva, 'GET', path, undefined, headers)
    return [status, data.error?.code]
  }
  const invalid = [400, 'ErrorInvalidSyncStateData']
  expect(await refused(link)).toEqual(invalid)
  expect(await refused(`${link}&$select=id`, IMMUTABLE)).toEqual(invalid)
  expect(await refused(link.slice(0, -1), IMMUTABLE)).toEqual(invalid)
  expect(await refused(link.replace('/inbox/', '/archive/'), IMMUTABLE)).toEqual(invalid)
  for (const query of ['$top=5', '$search="x"', '$skip=1', '$filter=isRead eq true', '$orderby=subject'])
    expect((await refused(`${INBOX}?${query}`))[0], query).toBe(400)
  expect((await refused('messages/delta'))[0]).not.toBe(200)
})

test('refuses a link that is of the mailbox before a reset', async () => {
  const { eva } = arrange(30)
  const { link } = await graph.deltaFrom(eva, INBOX)
  arrange(1)
  expect((await graph.ask(eva, 'GET', link)).status).toBe(410)
})

test('keeps only the newest links of a query on demand', async () => {
  const { eva } = arrange(3)
  graph.mail.configure({ generationsKept: 2 })
  const first = await graph.deltaFrom(eva, INBOX)
  const second = await graph.deltaFrom(eva, first.link)
  const status = async (link: string) => (await graph.ask(eva, 'GET', link)).status
  expect(await status(first.link)).toBe(200)
  expect(await status(second.link)).toBe(200)
  const { data } = await graph.ask(eva, 'GET', first.link)
  expect(data.error.message).toContain('generation=1;[highest=3]')
})

test('reports items twice and sparsely on demand', async () => {
  const { eva, messages } = arrange(4)
  const first = await graph.deltaFrom(eva, INBOX, IMMUTABLE)
  graph.mail.configure({ repeats: 1, sparse: 1 })
  const [one, two] = messages as [Message, Message]
  await graph.ask(eva, 'PATCH', `messages/${one.id}`, { isRead: true })
  changeMessage(graph.mailbox(eva), two, { isRead: true, categories: ['x'] })
  const { items } = await graph.deltaFrom(eva, first.link, IMMUTABLE)
  expect(ids(items)).toEqual([one, two, one, two].map(({ immutableId }) => immutableId))
  expect(Object.keys(items[0]).filter(name => !name.startsWith('@'))).toEqual([
    'id',
    'parentFolderId',
    'isRead',
  ])
  expect(items[1]).toMatchObject({ subject: two.subject, categories: ['x'] })
  expect(() => graph.mail.configure({ arrivals: 'sometimes' })).toThrow(/arrivals/)
})
