import { expect, test } from 'vitest'
import { startCyrus } from '../../../test/servers/cyrus.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld } from '../../../test/servers/world.ts'
import { shortMessages } from '../../../test/sync/proxied-account.ts'
import type { Cursor, FollowOptions } from '../mail.ts'
import { imapAccount } from './mail.ts'
import { Suspicions } from './suspicions.ts'

const server = useServer(() => startCyrus())

test('a mailbox that was renamed while it is open is not taken to be read to its end', async () => {
  const user = await server().addUser()
  await using world = await openWorld(server(), user)
  await world.createMailbox('Made')
  await world.deliver(shortMessages(1, 3), 'Made')
  const { signal } = new AbortController()
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
