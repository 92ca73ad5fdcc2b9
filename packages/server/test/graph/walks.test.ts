import { expect, test } from 'vitest'
import { letters } from '../../src/providers/conformance/arrangement.ts'
import { type MemoryIndex, openIndex } from '../../src/providers/conformance/memory-index.ts'
import { useServer } from '../servers/shared-server.ts'
import { arrangeGraph, type GraphArrangement } from './arrange-graph.ts'
import { startGraph } from './graph-server.ts'

const server = useServer(startGraph)

/** The calls for pages of a walk, as whether each goes on with an earlier one. */
const walked = () =>
  server()
    .calls.filter(({ path }) => path.includes('/delta'))
    .map(({ path }) => path.includes('skiptoken'))

/** Begins to read a folder of three pages, and is cut off after the first. */
async function beginWalk(arranged: GraphArrangement, index: MemoryIndex): Promise<void> {
  server().intercept = ({ path }) =>
    path.includes('skiptoken')
      ? Response.json({ error: { code: 'ServiceUnavailable' } }, { status: 503 })
      : null
  await using account = await arranged.connect()
  await account.mail.listMailboxes()
  await index.compare(account.mail)
  await expect(index.bring(account.mail)).rejects.toMatchObject({ kind: 'unavailable' })
  server().intercept = null
  server().calls.length = 0
}

test('a walk through a folder of which nothing is listed goes on where it was cut off', async () => {
  await using arranged = await arrangeGraph(server())
  const keys = await arranged.world.deliver(letters(1_200))
  const index = openIndex(arranged.inbox)
  await beginWalk(arranged, index)
  await using account = await arranged.connect()
  await index.bring(account.mail)
  expect(walked()).toEqual([true, true])
  expect(new Set(index.messages.keys())).toEqual(new Set(keys))
  expect(account.mail.isComplete(index.cursor, null)).toBe(true)
})

test('such a walk begins again if its link has expired meanwhile', async () => {
  await using arranged = await arrangeGraph(server())
  const keys = await arranged.world.deliver(letters(1_200))
  const index = openIndex(arranged.inbox)
  await beginWalk(arranged, index)
  server().mail.expire({ user: null, at: 'next' })
  await using account = await arranged.connect()
  await index.bring(account.mail)
  expect(walked()).toEqual([true, false, true, true])
  expect(new Set(index.messages.keys())).toEqual(new Set(keys))
})

test('an empty folder is complete after one call', async () => {
  await using arranged = await arrangeGraph(server())
  await using account = await arranged.connect()
  await account.mail.listMailboxes()
  const index = openIndex(arranged.inbox)
  await index.compare(account.mail)
  server().calls.length = 0
  await index.bring(account.mail)
  expect(server().calls).toHaveLength(1)
  expect(account.mail.isComplete(index.cursor, null)).toBe(true)
})

test('mail that arrives while a large folder of one second is read comes as well', async () => {
  await using arranged = await arrangeGraph(server())
  const internalDate = new Date('2024-05-01T10:00:00Z')
  const keys = await arranged.world.deliver(letters(2_600).map(({ raw }) => ({ raw, internalDate })))
  await using account = await arranged.connect()
  const { mail } = account
  const index = openIndex(arranged.inbox)
  await mail.listMailboxes()
  await index.follow(mail)
  const newest = [...index.messages.keys()]
  expect(newest).toHaveLength(500)
  const [late] = await arranged.world.deliver(letters(1, 9_000))
  // The state of the reset is that from before: only the walk shows what came meanwhile.
  server().intercept = ({ path }) => (/top=50(?!\d)/.test(path) ? Response.json({ value: [] }) : null)
  for (let rounds = 0; !mail.isComplete(index.cursor, null) && rounds < 5; rounds += 1)
    await index.follow(mail)
  server().intercept = null
  // The engine keeps messages when a source is reset, and recognises them later; this index forgets them.
  const known = new Set([...newest, ...index.messages.keys()])
  expect(keys.filter(key => !known.has(key))).toEqual([])
  expect(index.messages.has(late!)).toBe(true)
})
