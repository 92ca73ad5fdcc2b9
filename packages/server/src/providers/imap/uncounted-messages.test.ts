import { expect, test } from 'vitest'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld } from '../../../test/servers/world.ts'
import { shortMessages } from '../../../test/sync/proxied-account.ts'
import { openIndex } from '../conformance/memory-index.ts'
import { imapAccount } from './mail.ts'
import { Suspicions } from './suspicions.ts'

const server = useServer(() => startDovecot())

test('messages that no look has counted, below the next UID, are brought after all', async () => {
  const user = await server().addUser()
  await using world = await openWorld(server(), user)
  await world.deliver(shortMessages(1, 3))
  const { signal } = new AbortController()
  const { host, port } = server()
  await using account = await imapAccount({
    endpoint: { addresses: [host], servername: 'localhost', port, security: 'none' },
    login: user,
    suspicions: new Suspicions(),
    signal,
  })
  const { mail } = account
  const index = openIndex('INBOX')
  await mail.listMailboxes()
  await index.follow(mail)
  expect(index.keys()).toEqual([1, 2, 3])

  await world.deliver(shortMessages(4, 2))
  // As if a look had passed over them.
  index.cursor = { ...index.cursor, uidNext: 6 }
  await mail.listMailboxes()
  await index.compare(mail)
  expect(mail.isComplete(index.cursor, null)).toBe(false)
  await index.bring(mail)
  expect(index.keys()).toEqual([1, 2, 3, 4, 5])
  expect(mail.isComplete(index.cursor, null)).toBe(true)

  index.takeSteps()
  await mail.listMailboxes()
  await index.follow(mail)
  expect(index.takeSteps()).toEqual([])
})
