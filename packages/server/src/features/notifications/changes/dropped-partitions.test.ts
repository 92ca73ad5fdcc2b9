/** @module-tag postgres-16 */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { asTheService, openProcess, readers } from '../../../../test/notifications/feed-processes.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleTenant } from '../../../../test/sample-rows.ts'
import { seeded } from '../../../../test/seeded.ts'
import type { Db } from '../../../database/pool.ts'
import { dropOldPartitions, listPartitions, makePartitions } from '../../../events/partitions.ts'
import { deleteOldEvents } from '../../../events/retention.ts'
import { silentLog } from '../../../kit/log.ts'
import { readFeed } from './store.ts'

const WRITERS = 6
const RANGE_IDS = 100n
const FIRST_ID = 2_999_950
/** Partitions that are dropped before the writers end. */
const DROPPED = 8
const EVENTS_MAX = 20_000
const RETENTION_DAYS = 7
/** No partition has such an id. */
const AFTER_ALL = '9223372036854775807'
const signal = new AbortController().signal

/** Writers may be ahead of so small a range before it is there. Then the next one is made. */
function unlessOvertaken(error: unknown): void {
  if (!(error instanceof DatabaseError && error.code === '23514')) throw error
}

/** Makes events older than the retention, up to an id. */
async function age(db: Db, upTo: bigint): Promise<void> {
  await sql`
    update event set created_at = created_at - interval '30 days'
    where id <= ${upTo} and created_at > clock_timestamp() - interval '1 day'
  `.execute(db)
}

test('a partition that is dropped takes no retained event from clients that read and write meanwhile', async () => {
  await using opened = new AsyncDisposableStack()
  const { address, db } = opened.use(await openTestDatabase())
  const processes = [openProcess(address, opened), openProcess(address, opened)] as const
  const { id: tenantId } = await sampleTenant(db)
  await sql`select setval('event_id', ${FIRST_ID})`.execute(db)
  const random = seeded(String(Date.now()))
  let written = 0
  let dropped = 0
  /** Everything up to it is older than the retention. */
  let old = 0n
  let last: string | undefined
  const isEnough = () => dropped >= DROPPED || written >= EVENTS_MAX
  const isOver = (lastId: string | undefined) => last !== undefined && lastId === last

  async function write(nth: number) {
    const work = () => pause(random.between(0, 3))
    for (; !isEnough(); written++) await asTheService(processes[nth % 2 === 0 ? 0 : 1].db, tenantId, work)
  }
  const readings = processes.flatMap((process, nth) =>
    Object.entries(readers(tenantId)).map(([kind, read]) => {
      const ids: string[] = []
      const done = read(process, ids, { random: random.fork(`${kind} ${nth}`), isOver })
      return { kind, ids, done }
    }),
  )
  /** Falls behind the retained events, again and again. */
  async function readSlowly() {
    const ids: string[] = []
    for (let after = '0'; !isOver(ids.at(-1));) {
      const page = await readFeed(
        processes[0].db,
        { tenantId, accountIds: null, types: null },
        after,
        last ? 100 : 5,
      )
      ids.push(...page.items.map(({ id }) => id))
      after = page.readUpTo
      if (!last) await pause(30)
    }
    return ids
  }
  async function drop() {
    const names = new Set<string>()
    while (!isEnough()) {
      await makePartitions(db, { log: silentLog, signal, rangeIds: RANGE_IDS }).catch(unlessOvertaken)
      const read = readings.map(({ ids }) => BigInt(ids.at(-1) ?? 0))
      old = read.reduce((least, id) => (id < least ? id : least))
      await age(db, old)
      for (const { name } of await listPartitions(db)) names.add(name)
      await dropOldPartitions(db, { retentionDays: RETENTION_DAYS, log: silentLog, signal })
      // Events for which no partition was made in time.
      await deleteOldEvents(db, tenantId, RETENTION_DAYS, signal, AFTER_ALL)
      const left = await listPartitions(db)
      dropped = names.size - left.length
      await pause(5)
    }
  }
  const slow = readSlowly()
  await Promise.all([drop(), ...Array.from({ length: WRITERS }, (_, nth) => write(nth))])
  const { rows } = await sql<{ id: string }>`
    select id from event where tenant_id = ${tenantId} order by id
  `.execute(db)
  const retained = rows.map(({ id }) => id)
  last = retained.at(-1)
  await Promise.all(readings.map(({ done }) => done))

  expect(dropped).toBeGreaterThanOrEqual(DROPPED)
  const all = readings[0]!.ids
  expect(all).toHaveLength(written)
  expect(all.slice(-retained.length)).toEqual(retained)
  for (const { kind, ids } of readings) expect({ kind, ids }).toEqual({ kind, ids: all })
  const some = await slow
  expect(some).toEqual(all.filter(id => some.includes(id)))
  expect(all.filter(id => !some.includes(id) && BigInt(id) > old)).toEqual([])
})
