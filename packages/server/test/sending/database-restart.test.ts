import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../src/database/embedded/embedded.ts'
import { type DatabaseAddress, openDatabase } from '../../src/database/pool.ts'
import { silentLog } from '../../src/kit/log.ts'
import { callerOf } from '../caller.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startSmtpSink } from '../servers/smtp-sink.ts'
import { makePreparedFolder } from '../prepared-folder.ts'
import { type DataFolder, startServiceProcess } from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, GRACE } from './open-sending.ts'
import { SOAK } from '../soak.ts'

/** A stop that notifies clients, and one that does not. */
const SIGNALS = ['SIGINT', 'SIGKILL'] as const
const SENDERS = 4

/** Where the database of the folder listens, also after a restart. */
async function findDatabase({ path }: DataFolder): Promise<DatabaseAddress> {
  await using embedded = await openEmbedded({ dataDir: path, as: 'command', log: silentLog })
  return embedded.address
}

test('while the database restarts, every message that is accepted is sent once', SOAK, async () => {
  await using opened = new AsyncDisposableStack()
  const imap = opened.use(await startDovecot())
  const sink = opened.use(await startSmtpSink())
  const folder = opened.use(await makePreparedFolder())
  const env = {
    WAXWING_ROLES: 'api,jobs',
    WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
    WAXWING_ALLOW_PLAINTEXT: 'true',
  }
  const service = opened.use(await startServiceProcess(folder, { env }))
  const caller = callerOf(service.address, service.key)
  const accountId = await connectSender(caller, { imap, sink })
  const outbox = `/v1/accounts/${accountId}/outbox`
  const statuses = new Set<number>()
  const over = new AbortController()
  const accepted: OutboxEntry[] = []
  let keys = 0

  const address = await findDatabase(folder)
  const { db } = opened.use(openDatabase({ address, applicationName: 'waxwing test' }))

  /** In place of waiting: a key whose request was lost is free again after 15 seconds. */
  const freeKey = (key: string) =>
    sql`update idempotency_key set locked_until = '-infinity' where key = ${key} and status is null`
      .execute(db)
      .catch(() => null)

  async function post(key: string): Promise<OutboxEntry | null> {
    const answer = await fetch(service.address + outbox, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.key}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ to: [GRACE], subject: key, text: 'Hello.\n' }),
    })
    // As the contract has it, where it is accepted.
    const body = (await answer.json()) as OutboxEntry
    statuses.add(answer.status)
    expect(answer.status).toBeOneOf([200, 409, 500, 503])
    if (answer.status === 200) return body
    await freeKey(key)
    return null
  }
  /** Sends message after message, each repeated until it is accepted. */
  async function keepSending() {
    while (!over.signal.aborted) {
      const key = `message-${++keys}`
      accepted.push(await waitUntil('the answer', () => post(key)))
    }
  }
  const senders = Promise.all(Array.from({ length: SENDERS }, keepSending))
  // A rejection is reported at the end, where the promise is awaited.
  senders.catch(() => {})

  for (const signal of SIGNALS) {
    const atDot = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<null>()
    sink.behave = ({ step }) => {
      if (step !== 'dot') return null
      atDot.resolve()
      return answer.promise
    }
    await atDot.promise
    statuses.clear()
    process.kill((await folder.findServer())!, signal)
    await waitUntil(`a request that finds no database after ${signal}`, async () => statuses.has(503))
    // Only the process has the answer of the server until the database is back.
    answer.resolve(null)
    sink.behave = () => null
    statuses.clear()
    await waitUntil('messages to be accepted again', async () => statuses.has(200))
  }
  over.abort()
  await senders

  await waitUntil('the end of all sends', async () => {
    // In place of waiting until they are tried again.
    await sql`update outbox set due_at = clock_timestamp() where due_at > clock_timestamp()`.execute(db)
    await sql`
      update sending_account set due_at = clock_timestamp(), paused_until = null where due_at > clock_timestamp()
    `.execute(db)
    const { rows } = await sql`select from outbox where status in ('queued', 'sending')`.execute(db)
    return rows.length === 0
  })
  const { rows } = await sql<{ status: string; count: number }>`
    select status, count(*)::int as count from outbox group by status`.execute(db)
  expect(rows).toEqual([{ status: 'sent', count: keys }])
  const wanted = accepted.map(({ internetMessageId }) => internetMessageId).toSorted()
  expect(wanted).toHaveLength(keys)
  expect((await sink.accepted()).map(({ messageId }) => messageId).toSorted()).toEqual(wanted)
  const { rows: events } = await sql<{ count: number }>`
    select count(*)::int as count from event where type = 'send.sent'`.execute(db)
  expect(events[0]?.count).toBe(keys)
})
