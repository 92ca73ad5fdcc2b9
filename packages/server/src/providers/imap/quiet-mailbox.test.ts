import { expect, test } from 'vitest'
import { startChaosProxy } from '../../../test/servers/chaos-proxy.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { imapAccount } from './mail.ts'
import { NotifyTrust } from './notify-trust.ts'
import { Suspicions } from './suspicions.ts'

const LISTINGS = 16
const server = useServer(() => startDovecot())

test('a quiet mailbox is left for one listing in eight, and for a listing without a watch before it', async () => {
  const user = await server().addUser()
  await using proxy = await startChaosProxy(server())
  const { signal } = new AbortController()
  await using account = await imapAccount({
    endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
    login: user,
    suspicions: new Suspicions(),
    // The usual interval, not a longer one.
    notifyTrust: new NotifyTrust(1),
    signal,
  })
  const { mail } = account
  const opened = () => proxy.stats.lines.filter(line => line.startsWith('EXAMINE')).length
  const left = () => proxy.stats.lines.filter(line => /^(?:UNSELECT|CLOSE)/.test(line)).length

  await mail.listMailboxes()
  for (let listing = 0; listing < LISTINGS; listing++) {
    await mail.watch('INBOX', 0.05, signal)
    await mail.listMailboxes()
  }
  expect([opened(), left()]).toEqual([2, 2])
  await mail.watch('INBOX', 0.05, signal)
  await mail.listMailboxes()
  expect([opened(), left()]).toEqual([3, 2])
  await mail.listMailboxes()
  expect([opened(), left()]).toEqual([3, 3])
})
