import { describe, expect, test } from 'vitest'
import { openImapConnection } from '../../../test/imap-connection.ts'
import { startCyrus } from '../../../test/servers/cyrus.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld } from '../../../test/servers/world.ts'
import { shortMessages } from '../../../test/sync/proxied-account.ts'
import type { Cursor, FollowOptions } from '../mail.ts'
import type { ImapConnection } from './connection.ts'
import { imapAccount } from './mail.ts'
import { countSince, searchFrom, searchPresent, searchSequence } from './search.ts'
import { Suspicions } from './suspicions.ts'

const server = useServer(() => startCyrus())
const { signal } = new AbortController()

test('a mailbox that was renamed while it is open is not taken to be read to its end', async () => {
  const user = await server().addUser()
  await using world = await openWorld(server(), user)
  await world.createMailbox('Made')
  await world.deliver(shortMessages(1, 3), 'Made')
  const { host, port } = server()
  await using account = await imapAccount({
    endpoint: { addresses: [host], servername: 'localhost', port, security: 'none' },
    login: user,
    suspicions: new Suspicions(),
    pollSeconds: 0.05,
    signal,
  })
  const { mail } = account
  const made = (await mail.listMailboxes()).find(({ path }) => path === 'Made')!
  const follow = (cursor: Cursor | null): FollowOptions => ({
    cursor,
    since: null,
    skip: new Set(),
    retry: [],
    known: () => Promise.resolve({ keys: new Uint32Array(), flags: new Uint8Array() }),
    lacking: () => Promise.resolve([]),
    heldDrafts: () => Promise.resolve([]),
    signal,
  })
  let cursor: Cursor | null = null
  for await (const step of mail.compare(made.source!, follow(null))) if (step.cursor) cursor = step.cursor
  await mail.watch(made.source!, 0.05, signal)
  await world.renameMailbox('Made', 'Other')
  expect((await mail.watch(made.source!, 10, signal)).gone).toBe(true)

  const bringAll = async () => {
    for await (const step of mail.arrivals(made.source!, follow(cursor)))
      if (step.cursor) cursor = step.cursor
  }
  await expect(bringAll()).rejects.toMatchObject({ kind: 'not_found' })
  expect(mail.isComplete(cursor, null)).toBe(false)
})

/** A mailbox `Made` with three messages, which a connection has open for reading. */
async function openMade() {
  const user = await server().addUser()
  const opened = new AsyncDisposableStack()
  const world = opened.use(await openWorld(server(), user))
  await world.createMailbox('Made')
  await world.deliver(shortMessages(1, 3), 'Made')
  const { connection } = await openImapConnection(server(), user)
  opened.use(connection)
  const { uidValidity } = await connection.examine('Made')
  return { world, connection, uidValidity, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

describe.each([
  ['searchFrom', connection => searchFrom(connection, 1, 3)],
  ['searchPresent', connection => searchPresent(connection, [1, 2, 3])],
  ['searchSequence', connection => searchSequence(connection, 1, 3)],
  ['countSince', connection => countSince(connection, 4, new Date(0))],
] satisfies Array<[string, (connection: ImapConnection) => Promise<unknown>]>)('%s', (_, search) => {
  test('fails in a mailbox that was renamed while it is open', async () => {
    await using made = await openMade()
    const { world, connection } = made
    await world.renameMailbox('Made', 'Other')
    await expect(search(connection)).rejects.toMatchObject({ kind: 'not_found' })
    expect(connection.findOpen('Made')).toBeNull()
  })

  test('fails if another mailbox has that name by now', async () => {
    await using made = await openMade()
    const { world, connection, uidValidity } = made
    await world.renameMailbox('Made', 'Other')
    await world.createMailbox('Made')
    await expect(search(connection)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(connection.findOpen('Made')?.uidValidity).not.toBe(uidValidity)
  })

  test('fails if the mailbox has messages when it is opened again', async () => {
    await using made = await openMade()
    const { world, connection } = made
    await world.expunge('Made', [1, 2, 3])
    await connection.poke()
    await world.deliver(shortMessages(4, 1), 'Made')
    await expect(search(connection)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(connection.findOpen('Made')).toMatchObject({ exists: 1 })
  })

  test('finds nothing in a mailbox that was emptied while it is open', async () => {
    await using made = await openMade()
    const { world, connection, uidValidity } = made
    await world.expunge('Made', [1, 2, 3])
    await connection.poke()
    expect(connection.findOpen('Made')).toBeNull()
    expect([0, new Uint32Array()]).toContainEqual(await search(connection))
    expect(connection.findOpen('Made')).toMatchObject({ uidValidity, exists: 0 })
  })
})
