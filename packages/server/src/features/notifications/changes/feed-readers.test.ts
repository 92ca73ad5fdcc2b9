/** @module-tag postgres-16 */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  asTheService,
  type Commit,
  openProcess,
  readers,
} from '../../../../test/notifications/feed-processes.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleTenant } from '../../../../test/sample-rows.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { makePartitions } from '../../../events/partitions.ts'
import { silentLog } from '../../../kit/log.ts'
import { readFeed } from './store.ts'

const WRITERS = 12
const TRANSACTIONS_A_WRITER = 30
const DELAY_MS_MAX = 5
const RANGE_IDS = 60n
const FIRST_ID = 2_999_900
const LAST_EVENT_MS_MAX = 60_000
const TRIES_MAX = 10

/** Takes the id without the tenant's lock. */
const withoutLock: Commit = (db, tenantId, work) =>
  db.transaction().execute(async tx => {
    await sql`
      insert into event (tenant_id, id, type, data)
      values (${tenantId}, nextval('event_id'), 'webhook.test', '{"message":"x"}')
    `.execute(tx)
    await work()
  })

/**
 * Writes in two processes while all kinds of readers follow. Returns the events of the table, and the events that each
 * reader got.
 */
async function followWhileWriting(seed: string, commit: Commit, { isTerminating = false } = {}) {
  await using opened = new AsyncDisposableStack()
  const { address, db } = opened.use(await openTestDatabase())
  const processes = [openProcess(address, opened), openProcess(address, opened)] as const
  const random = seeded(seed)
  const tenant = await sampleTenant(db)
  await sql`select setval('event_id', ${FIRST_ID})`.execute(db)
  let isWriting = true
  let last: string | undefined

  async function write(nth: number, own: Random) {
    for (let round = 0; round < TRANSACTIONS_A_WRITER; round++) {
      const isRolledBack = own.chance(0.1)
      const work = async () => {
        await pause(own.between(0, DELAY_MS_MAX))
        if (isRolledBack) throw new Error('a rollback')
      }
      await commit(processes[nth % 2 === 0 ? 0 : 1].db, tenant.id, work).catch(() => {})
    }
  }
  async function disturb() {
    const signal = new AbortController().signal
    // oxlint-disable-next-line no-unmodified-loop-condition -- the end of the writers sets it
    while (isWriting) {
      await makePartitions(db, { log: silentLog, signal, rangeIds: RANGE_IDS }).catch(() => {})
      if (isTerminating)
        await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'waxwing feed' and state = 'idle in transaction' order by random() limit 1
        `.execute(db)
      await pause(10)
    }
  }
  // Without the lock a reader may never get the last event.
  let until = Infinity
  const isOver = (lastId: string | undefined) =>
    (last !== undefined && lastId === last) || performance.now() > until
  const reading = processes.flatMap((process, nth) =>
    Object.entries(readers(tenant.id)).flatMap(([kind, read]) =>
      [0, 1].map(async copy => {
        const ids: string[] = []
        await read(process, ids, { random: random.fork(`${kind} ${nth} ${copy}`), isOver })
        return { kind, ids }
      }),
    ),
  )
  const disturbing = disturb()
  await Promise.all(Array.from({ length: WRITERS }, (_, nth) => write(nth, random.fork(`writer ${nth}`))))
  isWriting = false
  await disturbing
  const { rows } = await sql<{ id: string; place: string }>`
    select id, tableoid::regclass::text as place from event where tenant_id = ${tenant.id} order by event.id
  `.execute(db)
  last = rows.at(-1)?.id
  until = performance.now() + LAST_EVENT_MS_MAX
  const readings = await Promise.all(reading)
  return { ids: rows.map(({ id }) => id), places: new Set(rows.map(({ place }) => place)), readings }
}

describe('the change feed of two processes', () => {
  const seed = process.env['FEED_SEED'] ?? 'feed readers'

  for (const isTerminating of [false, true]) {
    const how = isTerminating ? 'connections are killed' : 'transactions roll back'
    test(
      `gives pollers, waits and streams every event once and in order while ${how} and partitions are made (FEED_SEED=${seed})`,
      { timeout: 300_000 },
      async () => {
        const { ids, places, readings } = await followWhileWriting(seed, asTheService, { isTerminating })
        expect(ids.length).toBeGreaterThan(50)
        expect(places.size).toBeGreaterThan(2)
        for (const reading of readings) expect(reading).toEqual({ kind: reading.kind, ids })
      },
    )
  }

  test(
    `would lose events without the lock, as this test can detect (FEED_SEED=${seed})`,
    { timeout: 300_000 },
    async () => {
      const losesSome = async (nth: number) => {
        const { ids, readings } = await followWhileWriting(`${seed}/${nth}`, withoutLock)
        return readings.some(reading => ids.some(id => !reading.ids.includes(id)))
      }
      // One time is nearly always enough, but a matter of luck.
      let tries = 1
      while (!(await losesSome(tries))) expect(tries++).toBeLessThan(TRIES_MAX)
    },
  )
})

test('equal reads of waiting clients are one read', async () => {
  await using opened = new AsyncDisposableStack()
  const { address, db } = opened.use(await openTestDatabase())
  const { watch, db: own } = openProcess(address, opened)
  const tenant = await sampleTenant(db)
  const filter = { tenantId: tenant.id, accountIds: null, types: null }
  const waiters = Array.from({ length: 1_000 }, () => watch.enter(filter))
  await asTheService(own, tenant.id, async () => {})
  const pages = await Promise.all(waiters.map(waiter => waiter.read('0', 100)))
  expect(new Set(pages).size).toBeLessThanOrEqual(4)
  expect(pages[0]?.items).toHaveLength(1)

  const woken = waiters.map(async waiter => {
    await waiter.pause(600_000, new AbortController().signal)
    return waiter.read('0', 100)
  })
  await asTheService(own, tenant.id, async () => {})
  expect(new Set(await Promise.all(woken)).size).toBeLessThanOrEqual(4)
  for (const waiter of waiters) waiter[Symbol.dispose]()
})

test('a cursor into a range that was dropped goes on with the oldest event', async () => {
  await using opened = new AsyncDisposableStack()
  const { address, db } = opened.use(await openTestDatabase())
  const { db: own } = openProcess(address, opened)
  const tenant = await sampleTenant(db)
  const filter = { tenantId: tenant.id, accountIds: null, types: null }
  for (const firstId of ['1', '2', '1000000', '2000000']) {
    await sql`select setval('event_id', ${firstId}, false)`.execute(db)
    await asTheService(own, tenant.id, async () => {})
  }
  await sql`drop table event_first`.execute(db)
  const page = await readFeed(own, filter, '1', 10)
  expect(page.items.map(({ id }) => id)).toEqual(['1000000', '2000000'])
  expect((await readFeed(own, filter, '2000000', 10)).items).toEqual([])
})
