/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { AttemptRecords } from '../../src/features/notifications/deliveries/attempt-records.ts'
import { claimDeliveries } from '../../src/features/notifications/deliveries/claims.ts'
import type { ClaimedDelivery } from '../../src/features/notifications/deliveries/claims.ts'
import type { AttemptResult } from '../../src/features/notifications/deliveries/attempt-result.ts'
import type { Db } from '../../src/database/pool.ts'
import type { Lease } from '../../src/processes/lease.ts'
import { newId } from '../../src/kit/ids.ts'
import { silentLog } from '../../src/kit/log.ts'
import { openSemaphore } from '../../src/kit/semaphore.ts'
import { openLosingDatabase } from '../losing-database.ts'
import { openTestApp } from '../open-app.ts'
import { waitUntil } from '../wait-until.ts'
import { createEndpoint, happen } from './open-webhooks.ts'

/** A lease with its id only, which is all that recording reads. */
const leaseOf = (id: string) => ({ id }) as Lease

function endedWith(statusCode: number, delivery: ClaimedDelivery): AttemptResult {
  const { eventId, isTest, isProbe, tries, queuedAt } = delivery
  return {
    id: newId(),
    delivery,
    eventId,
    isTest,
    isProbe,
    tries,
    queuedAt,
    statusCode,
    error: null,
    retryAfter: null,
    responseExcerpt: null,
    durationMilliseconds: 1,
    startedAt: Date.now(),
  }
}

/** An endpoint with claimed deliveries, in a process that dispatches for none. */
async function openClaimed(count: number) {
  await using opened = new AsyncDisposableStack()
  const app = opened.use(
    await openTestApp({ config: { webhookAllow: ['127.0.0.1/32'], webhookAllowHttp: true } }),
  )
  const { db, tenantId } = app
  const { endpoint } = await createEndpoint(app, 'http://127.0.0.1:9/')
  const { id } = endpoint
  const eventIds = await happen(app, count)
  await sql`
    insert into webhook_delivery (endpoint_id, event_id, tenant_id, priority)
    select ${id}, unnest(${eventIds}::bigint[]), ${tenantId}, 1
  `.execute(db)
  await sql`
    insert into webhook_dispatch (endpoint_id, tenant_id, due_at) values (${id}, ${tenantId}, now())
  `.execute(db)
  const lease = leaseOf(newId())
  const turns = new Map([[id, count]])
  const { deliveries: claimed } = await claimDeliveries(db, lease, { turns, busy: [] })
  const read = async () => {
    const { rows } = await sql<{ attempts: number[]; failures: number; logged: number }>`
      select failures,
        (select array_agg(attempts order by event_id) from webhook_delivery where endpoint_id = ${id}) as attempts,
        (select count(*)::int from webhook_attempt where endpoint_id = ${id}) as logged
      from webhook_dispatch where endpoint_id = ${id}
    `.execute(db)
    return rows[0]
  }
  const owned = opened.move()
  return { app, db, id, lease, claimed, read, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

function openRecords(db: Db) {
  const recorded: AttemptResult[] = []
  const doubted = new Set<string>()
  const records = new AttemptRecords({
    db,
    log: silentLog,
    turn: openSemaphore({ atOnce: 1, waitingMax: 2 }),
    takeIdle: () => [],
    async onRecorded(results, { doubtedIds }) {
      recorded.push(...results)
      for (const id of doubtedIds) doubted.add(id)
    },
  })
  const all = (count: number) => waitUntil(`${count} results`, async () => recorded.length >= count)
  return { records, all, doubted }
}

test('attempts whose commit is not answered are recorded once, and later ones after them', async () => {
  await using opened = await openClaimed(2)
  const { app, lease, claimed, read } = opened
  await using losing = await openLosingDatabase(app.database)
  const { records, all, doubted } = openRecords(losing.database.db)
  await using _ = records
  losing.loseNextCommit()
  records.add(lease, endedWith(500, claimed[0]!))
  await all(1)
  expect(losing.lost()).toBe(1)
  records.add(lease, endedWith(500, claimed[1]!))
  await all(2)
  expect(await read()).toEqual({ attempts: [1, 1], failures: 2, logged: 2 })
  expect([...doubted]).toEqual([opened.id])
})

test('an attempt that the database refuses holds up no other', async () => {
  await using opened = await openClaimed(3)
  const { db, lease, claimed, read } = opened
  const { records, all } = openRecords(db)
  await using _ = records
  const [first, second, third] = claimed.map(delivery => endedWith(500, delivery))
  records.add(lease, first!)
  records.add(lease, { ...second!, statusCode: 70_000 })
  records.add(lease, third!)
  await all(3)
  expect(await read()).toEqual({ attempts: [1, 0, 1], failures: 2, logged: 2 })
})

test('an endpoint is doubted if another lease dispatches for it when an attempt has ended', async () => {
  await using opened = await openClaimed(1)
  const { db, claimed, read } = opened
  const { records, all, doubted } = openRecords(db)
  await using _ = records
  records.add(leaseOf(newId()), endedWith(500, claimed[0]!))
  await all(1)
  expect(await read()).toEqual({ attempts: [0], failures: 0, logged: 1 })
  expect([...doubted]).toEqual([opened.id])
})

test('a failure of a delivery that a replay has replaced is not charged to the replay', async () => {
  await using opened = await openClaimed(1)
  const { app, db, id, lease, claimed, read } = opened
  await sql`update webhook_delivery set due_at = null`.execute(db)
  const path = `/v1/webhooks/${id}/replay-failed`
  expect((await app.post(path)).body).toEqual({ queued: 1, alreadyQueued: 0 })
  const { records, all, doubted } = openRecords(db)
  await using _ = records
  records.add(lease, endedWith(500, claimed[0]!))
  await all(1)
  expect(await read()).toEqual({ attempts: [0], failures: 1, logged: 1 })
  expect([...doubted]).toEqual([id])
})

test('the replay of a range waits for a transaction that records attempts, and neither is aborted', async () => {
  await using opened = await openClaimed(3)
  const { app, db, id } = opened
  const replay = await db.transaction().execute(async tx => {
    await sql`select from webhook_dispatch where endpoint_id = ${id} for no key update`.execute(tx)
    const range = { since: '2020-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' }
    const answer = app.post(`/v1/webhooks/${id}/replay`, range)
    await waitUntil('the replay to wait', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      `.execute(db)
      return rows.length > 0
    })
    await sql`update webhook_delivery set due_at = null where endpoint_id = ${id}`.execute(tx)
    return { answer }
  })
  expect((await replay.answer).body).toEqual({ queued: 3, alreadyQueued: 0 })
})
