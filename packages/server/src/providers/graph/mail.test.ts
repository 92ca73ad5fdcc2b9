import { afterAll, beforeAll, expect, test } from 'vitest'
import { arrangeGraph } from '../../../test/graph/arrange-graph.ts'
import { type GraphServer, startGraph } from '../../../test/graph/graph-server.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { letter, never } from '../conformance/arrangement.ts'
import { describeChanging } from '../conformance/changing.ts'
import { describeContent } from '../conformance/content.ts'
import { describeFolders } from '../conformance/folders.ts'
import { describeMail } from '../conformance/mail.ts'
import { openIndex } from '../conformance/memory-index.ts'
import { describeSearch } from '../conformance/search.ts'
import { describeTrouble } from '../conformance/trouble.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

describeMail('Graph', () => arrangeGraph(server))
describeFolders('Graph', () => arrangeGraph(server))
describeTrouble('Graph', () => arrangeGraph(server))
describeChanging('Graph', () => arrangeGraph(server))
describeContent('Graph', () => arrangeGraph(server))
describeSearch('Graph', () => arrangeGraph(server))

const DAY_MS = 86_400_000

/** Delivers messages that arrived a second apart, the newest a day ago. */
async function fill(arranged: Awaited<ReturnType<typeof arrangeGraph>>, count: number) {
  const newest = Date.now() - DAY_MS
  return arranged.world.deliver(
    Array.from({ length: count }, (_, number) => ({
      raw: letter(number),
      internalDate: new Date(newest - (count - number) * 1_000),
    })),
  )
}

test('reads a large folder newest first, in few calls, and misses nothing that happens meanwhile', async () => {
  await using arranged = await arrangeGraph(server)
  const keys = await fill(arranged, 6_000)
  await using account = await arranged.connect()
  const { mail } = account
  const index = openIndex(arranged.inbox)
  server.calls.length = 0

  await index.follow(mail)
  const newest = [...index.messages.keys()]
  expect(newest.length).toBeGreaterThan(490)
  expect(newest.length).toBeLessThan(510)
  expect(newest).toEqual(keys.slice(-newest.length).toReversed())
  await arranged.world.expunge('INBOX', [keys[5_999]!, keys[10]!])
  const [late] = await arranged.world.deliver([{ raw: letter(9_000) }])
  for (let rounds = 0; !mail.isComplete(index.cursor, null) && rounds < 5; rounds += 1) {
    // The engine keeps the messages of a source whose keys are kept; this index begins again.
    await index.follow(mail)
  }
  await index.follow(mail)

  const there = new Set([...keys.slice(0, 10), ...keys.slice(11, 5_999), late!])
  expect(new Set(index.messages.keys())).toEqual(there)
  // Messages that the reset made this index forget are fetched one by one.
  expect(server.calls.length).toBeLessThan(6_000 * 0.02 + 520)
})

test('restarts a folder whose link has expired, at any page, and keeps the keys', async () => {
  await using arranged = await arrangeGraph(server)
  await using account = await arranged.connect()
  const { mail } = account
  const keys = await fill(arranged, 30)
  const index = openIndex(arranged.inbox)
  await index.follow(mail)
  index.takeSteps()
  const more = await fill(arranged, 5)
  server.mail.expire({ user: null, at: null })
  await index.compare(mail)
  expect(index.takeSteps()).toMatchObject([{ type: 'reset', keys: 'kept' }])
  await index.bring(mail)
  expect(mail.isComplete(index.cursor, null)).toBe(true)
  expect(new Set(index.messages.keys())).toEqual(new Set([...keys, ...more]))
})

test('sends every call with the preference for lasting ids, and no token in an address', async () => {
  await using arranged = await arrangeGraph(server)
  server.calls.length = 0
  await fill(arranged, 60)
  await using account = await arranged.connect()
  await account.mail.listMailboxes()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  await account.mail.locate(null, [...index.messages.keys()].slice(0, 3))
  expect(server.calls.length).toBeGreaterThan(10)
  for (const { path, headers } of server.calls) {
    expect(headers.get('prefer')).toContain('IdType="ImmutableId"')
    expect(headers.get('client-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(path).not.toContain('Bearer')
  }
})

test('follows no link to another host, and sends it no token', async () => {
  await using arranged = await arrangeGraph(server)
  await fill(arranged, 3)
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  server.intercept = ({ path }) =>
    path.includes('delta')
      ? Response.json({ value: [], '@odata.nextLink': 'https://graph.evil.test/v1.0/users/x/messages' })
      : null
  const before = index.cursor
  await expect(index.compare(account.mail).then(() => index.compare(account.mail))).rejects.toMatchObject({
    kind: 'rejected',
  })
  expect(before).not.toBeNull()
})

test('follows a folder where there is no delta, and lists it again once something left it', async () => {
  await using arranged = await arrangeGraph(server, 'china')
  const { world, inbox, category } = arranged
  server.calls.length = 0
  const keys = await fill(arranged, 30)
  const index = openIndex(inbox)
  /** Follows the folder if it looks different. @returns the types of the steps */
  const look = async (clockAheadMs: number) => {
    await using account = await arranged.connect({ clockAheadMs })
    const mailboxes = await account.mail.listMailboxes()
    const mailbox = mailboxes.find(({ key }) => key === inbox)!
    if (!account.mail.hasChanged(mailbox, index.cursor)) return []
    await index.follow(account.mail)
    expect(account.mail.isComplete(index.cursor, null)).toBe(true)
    return index.takeSteps().map(({ type }) => type)
  }
  await look(0)
  expect(new Set(index.messages.keys())).toEqual(new Set(keys))
  expect(await look(0)).toEqual([])

  await world.flag('INBOX', [keys[3]!], '\\Seen', category)
  const [late] = await world.deliver([{ raw: letter(500) }])
  expect(new Set(await look(60_000))).toEqual(new Set(['page']))
  expect(index.messages.get(keys[3]!)).toMatchObject({ isRead: true, categories: [category] })
  expect(index.messages.get(late!)).toMatchObject({ subject: 'Letter 500' })

  await world.expunge('INBOX', [keys[5]!])
  expect(await look(120_000)).toContain('reset')
  expect(new Set(index.messages.keys())).toEqual(new Set([...keys.filter(key => key !== keys[5]), late!]))
  expect(server.calls.filter(({ path }) => path.includes('delta'))).toEqual([])
})

test('looks at a quiet mailbox in two calls, and one more for each folder with children', async () => {
  await using arranged = await arrangeGraph(server)
  for (const path of ['One', 'One/Child', 'Two', 'Two/Child']) await arranged.world.createMailbox(path)
  await using account = await arranged.connect()
  await account.mail.listMailboxes()
  server.calls.length = 0
  await account.mail.listMailboxes()
  const calls = server.calls.filter(({ path }) => path !== '/v1.0/$batch')
  expect(
    calls.map(({ path }) =>
      path
        .replace(/\?.*|^.*?\/users\/[^/]+\//g, '')
        .split('/')
        .at(-1),
    ),
  ).toEqual(['messages', 'mailFolders', 'childFolders', 'childFolders'])
})

test('lists the folders of a polled mailbox at every second look', async () => {
  await using arranged = await arrangeGraph(server)
  for (const path of ['One', 'One/Child']) await arranged.world.createMailbox(path)
  await using account = await arranged.connect()
  await account.mail.listMailboxes()
  server.calls.length = 0
  const ended = new AbortController()
  const watching = account.mail.watch(arranged.inbox, 60, ended.signal)
  await waitUntil('four looks', async () => server.calls.length >= 8)
  ended.abort()
  await watching
  const look = ['messages', 'mailFolders', 'childFolders']
  const names = server.calls.slice(0, 8).map(({ path }) => path.replace(/\?.*/, '').split('/').at(-1))
  expect(names).toEqual(['messages', ...look, 'messages', ...look])
})

test('lists the folders of a polled mailbox at once if something was modified', async () => {
  await using arranged = await arrangeGraph(server)
  await using account = await arranged.connect()
  await account.mail.listMailboxes()
  await fill(arranged, 1)
  server.calls.length = 0
  expect(await account.mail.watch(arranged.inbox, 60, never)).toMatchObject({ arrived: true })
  expect(server.calls.map(({ path }) => path.replace(/\?.*/, '').split('/').at(-1))).toEqual([
    'messages',
    'mailFolders',
  ])
})

test('sees a deletion that follows an arrival which was read without a look', async () => {
  await using arranged = await arrangeGraph(server)
  await using account = await arranged.connect()
  const { mail } = account
  await fill(arranged, 5)
  const index = openIndex(arranged.inbox)
  await index.follow(mail)
  // Graph gives times in whole seconds.
  const secondNow = () => Math.floor(Date.now() / 1_000)
  const filled = secondNow()
  await waitUntil('the next second', async () => secondNow() > filled)
  const [arrived] = await fill(arranged, 1)
  expect(await mail.listNoticed!()).toEqual([arranged.inbox])
  await index.compare(mail)
  expect(index.messages.has(arrived!)).toBe(true)
  await arranged.world.expunge('INBOX', [arrived!])
  const mailboxes = await mail.listMailboxes()
  const inbox = mailboxes.find(({ key }) => key === arranged.inbox)!
  expect(mail.hasChanged(inbox, index.cursor)).toBe(true)
  await index.compare(mail)
  expect(index.messages.has(arrived!)).toBe(false)
  const quiet = (await mail.listMailboxes()).find(({ key }) => key === arranged.inbox)!
  expect(mail.hasChanged(quiet, index.cursor)).toBe(false)
})

test('makes no call while Graph has told it to pause', async () => {
  await using arranged = await arrangeGraph(server)
  await using account = await arranged.connect()
  server.intercept = () =>
    Response.json(
      { error: { code: 'ApplicationThrottled' } },
      { status: 429, headers: { 'retry-after': '7' } },
    )
  await expect(account.mail.listMailboxes()).rejects.toMatchObject({
    kind: 'throttled',
    retryAfterSeconds: 7,
  })
  server.intercept = null
  const before = server.calls.length
  await expect(account.mail.listMailboxes()).rejects.toMatchObject({ kind: 'throttled', isBusy: true })
  expect(server.calls.length).toBe(before)
})
