import { expect, test } from 'vitest'
import { startChaosProxy } from '../../../test/servers/chaos-proxy.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld } from '../../../test/servers/world.ts'
import { MESSAGES_PER_FETCH } from './fetch.ts'
import { imapAccount } from './mail.ts'
import { Suspicions } from './suspicions.ts'

const STEPS = 6
const server = useServer(() => startDovecot())

/** Number of messages that a set of UIDs names. */
function countSet(set: string) {
  return set
    .split(',')
    .map(range => range.split(':').map(Number))
    .reduce((count, [from = 0, to = from]) => count + Math.abs(to - from) + 1, 0)
}

test('holds at most one fetch of messages for a busy caller, however large the mailbox', async () => {
  const user = await server().addUser()
  await using world = await openWorld(server(), user)
  const count = MESSAGES_PER_FETCH * STEPS
  await world.deliver(
    Array.from({ length: count }, (_, at) => ({
      raw: `Subject: ${at}\r\nMessage-ID: <${at}@x>\r\n\r\nText\r\n`,
    })),
  )
  await using proxy = await startChaosProxy(server())
  await using account = await imapAccount({
    endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
    login: user,
    suspicions: new Suspicions(),
    signal: new AbortController().signal,
  })
  const asked = () =>
    proxy.stats.lines.reduce((sum, line) => {
      const set = /^UID FETCH (\S+) .*BODY/.exec(line)?.[1]
      return sum + (set ? countSet(set) : 0)
    }, 0)

  let taken = 0
  const steps = account.mail.arrivals('INBOX', {
    cursor: null,
    known: async () => ({ keys: new Uint32Array(0), flags: new Uint8Array(0) }),
    lacking: async () => [],
    heldDrafts: async () => [],
    since: null,
    skip: new Set(),
    retry: [],
    signal: new AbortController().signal,
  })
  for await (const step of steps) {
    if (step.type !== 'arrived') continue
    taken += step.messages.length
    // Time for the adapter to request more than it may.
    for (let round = 0; round < 5; round++) await world.uids('INBOX')
    expect(asked() - taken).toBeLessThanOrEqual(MESSAGES_PER_FETCH)
  }
  expect([taken, asked()]).toEqual([count, count])
})
