import { once } from 'node:events'
import { createServer } from 'node:net'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { backoffMs } from '../../src/sync/backoff.ts'
import { insertImapAccounts } from '../insert-accounts.ts'
import { waitUntil } from '../wait-until.ts'
import { openSyncApp } from './followed-account.ts'

const ACCOUNTS = 300
/** The number of accounts whose cost is judged, at the measured cost of an attempt. */
const JUDGED_ACCOUNTS = 1_000
const WINDOW_SECONDS = 300
const CORE_SHARE_MAX = 0.3

test('accounts on a server that closes at once retry at growing intervals, spread out, a thousand of them on a third of a core', async () => {
  await using server = await startClosingServer()
  await using api = await openSyncApp({ roles: ['api'] })
  await insertImapAccounts(api, { count: ACCOUNTS, domain: 'storm.test', port: server.port })

  const before = process.cpuUsage()
  await using _sync = await openSyncApp({
    database: api.database,
    keyRing: api.keyRing,
    roles: ['sync'],
    pace: { pollSeconds: 45, pulseSeconds: 1 },
  })
  await waitUntil('two attempts of every account', () => Promise.resolve(server.attempts >= 2 * ACCOUNTS))
  const { user, system } = process.cpuUsage(before)
  const { attempts } = server
  const waits = await waitUntil('most of them waiting at a time', () => readWaits(api.db))

  // The rule's maximum in five minutes from the first failure on, at the measured cost of an attempt.
  const cpuSeconds = ((user + system) / 1e6 / attempts) * JUDGED_ACCOUNTS * attemptsWithin(WINDOW_SECONDS)
  expect(cpuSeconds / WINDOW_SECONDS).toBeLessThan(CORE_SHARE_MAX)
  // No account tried more often than the rule allows: at most a third time, while others tried twice.
  expect(attempts).toBeLessThan(3.5 * ACCOUNTS)

  // Random waits from a second or two are far apart; equal waits would differ by milliseconds.
  const tenths = new Set(waits.map(wait => Math.floor(wait * 10)))
  expect(tenths.size).toBeGreaterThan(10)
})

/** The waits in seconds of the accounts that wait for their next try; null while those are few. */
async function readWaits(db: Db): Promise<number[] | null> {
  const { rows } = await sql<{ wait: number }>`
    select extract(epoch from substring(runtime_detail from 'next try at (.*)$')::timestamptz - runtime_updated_at)::float8
      as wait
    from account_half where runtime_state = 'backoff'
  `.execute(db)
  return rows.length > ACCOUNTS / 2 ? rows.map(({ wait }) => wait) : null
}

/** Number of attempts of one account in this many seconds. */
function attemptsWithin(seconds: number): number {
  let [attempts, at] = [0, 0]
  while (at < seconds * 1_000) at += backoffMs(++attempts, () => 0)
  return attempts
}

async function startClosingServer() {
  const server = createServer(socket => {
    started.attempts++
    socket.on('error', () => {})
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const started = {
    port: typeof address === 'object' && address ? address.port : 0,
    attempts: 0,
    async [Symbol.asyncDispose]() {
      server.close()
      await once(server, 'close')
    },
  }
  return started
}
