import { type Transaction, sql } from 'kysely'
import { DatabaseError } from 'pg'
import type { Db } from '../database/pool.ts'
import type { Tables } from '../database/tables.ts'
import { pause } from '../processes/nudge.ts'
import type { Logger } from '../kit/log.ts'
import { UNHANDLED_DAYS_MAX } from './retention.ts'

/** A range of ids of the table `event`, in a table of its own. */
export interface Partition {
  name: string
  /** The smallest id; null for the first range, which has none. */
  from: bigint | null
  /** The end of the range, which is not in it. */
  to: bigint
}

/** A range holds about a day of events, but at least this many ids. */
const RANGE_IDS_MIN = 1_000_000n
const RANGE_IDS_MAX = 1_000_000_000n
const MEASURED_DAYS = 7n
/** Whole ranges that are ready for the ids to come. */
const RANGES_AHEAD = 2
/** Ids that are left to the default partition when it is in use: events take them while the next range is made. */
const GAP_IDS = 100_000n
/** Making and dropping a partition waits for those who use the table, and all others wait behind it: so not for long. */
const LOCK_WAIT_MILLISECONDS = 250
const LOCK_TRIES_MAX = 20
const LOCK_PAUSE_MILLISECONDS = 500
/** A range that is dropped within this time is not swept row by row before. */
const DROP_SOON_DAYS = 2
const PARTITION_LOCK = 0x57_41_58_50

/** The partitions of `event` but for the default, by their ranges. */
export async function listPartitions(db: Db): Promise<Partition[]> {
  const { rows } = await sql<{ name: string; bound: string }>`
    select relname as name, pg_get_expr(relpartbound, pg_class.oid) as bound
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'event'::regclass and pg_get_expr(relpartbound, pg_class.oid) <> 'DEFAULT'
  `.execute(db)
  return rows
    .map(({ name, bound }) => {
      const range = /^FOR VALUES FROM \((?:MINVALUE|'?(-?\d+)'?)\) TO \('?(\d+)'?\)$/.exec(bound)
      if (!range) throw new Error(`The partition ${name} has an unknown range: ${bound}`)
      const [, from, to] = range
      return { name, from: from === undefined ? null : BigInt(from), to: BigInt(to!) }
    })
    .toSorted((a, b) => (a.to < b.to ? -1 : 1))
}

export interface MakeOptions {
  log: Logger
  signal: AbortSignal
  /** In place of what is measured, for tests. */
  rangeIds?: bigint
}

/**
 * Makes the partitions that the next events go into, two ranges ahead. An event never depends on it: without a range
 * for its id, it goes into the default partition.
 */
export async function makePartitions(db: Db, { log, signal, rangeIds }: MakeOptions): Promise<void> {
  const partitions = await listPartitions(db)
  const head = await findLastId(db)
  const end = partitions.at(-1)?.to ?? 0n
  if (head >= end) log.warn({ names: ['event_default'] }, 'Events go into the default partition')
  const ids = rangeIds ?? (await measureRange(db, partitions))
  let from = head >= end ? head + (rangeIds ?? GAP_IDS) : end
  for (
    let ahead = partitions.filter(each => (each.from ?? 0n) > head).length;
    ahead < RANGES_AHEAD;
    ahead++
  ) {
    const [first, to] = [from, from + ids]
    await withTableLock(db, signal, async tx => {
      const name = sql.table(`event_${first}`)
      await sql`create table ${name} (like event including defaults including constraints)`.execute(tx)
      await sql`
        alter table event attach partition ${name} for values from (${sql.lit(String(first))}) to (${sql.lit(String(to))})
      `.execute(tx)
    })
    from = to
  }
}

export interface DropOptions {
  /** The longest retention of a tenant. */
  retentionDays: number
  log: Logger
  signal: AbortSignal
}

/**
 * Drops the partitions whose events are all older than the longest retention. Like `deleteOldEvents`, it keeps what a
 * follower has not handled for a week longer.
 */
export async function dropOldPartitions(db: Db, { retentionDays, log, signal }: DropOptions): Promise<void> {
  const head = await findLastId(db)
  for (const partition of await listPartitions(db)) {
    if (partition.to > head || signal.aborted) return
    if (!(await isOver(db, partition, retentionDays))) return
    const isDropped = await withTableLock(db, signal, async tx => {
      await sql`lock table event in access exclusive mode`.execute(tx)
      // An event of the range may have come while the lock was waited for.
      if (!(await isOver(tx, partition, retentionDays))) return false
      await sql`drop table ${sql.table(partition.name)}`.execute(tx)
      return true
    })
    if (!isDropped) return
    log.info({ names: [partition.name] }, 'Dropped a partition of old events')
  }
}

/**
 * The id up to which events of the longest retention need no sweep, since their partitions are dropped within two days.
 */
export async function findDropSoon(db: Db, retentionDays: number): Promise<string> {
  const head = await findLastId(db)
  let upTo = 0n
  for (const partition of await listPartitions(db)) {
    if (partition.to > head) break
    const ageDays = await findAgeDays(db, partition)
    if (ageDays !== null && ageDays < retentionDays - DROP_SOON_DAYS) break
    upTo = partition.to
  }
  return String(upTo)
}

/** Ids until events go into the default partition: 0 if they do. */
export async function measureRoom(db: Db): Promise<number> {
  const end = (await listPartitions(db)).at(-1)?.to ?? 0n
  const room = end - (await findLastId(db))
  return room > 0n ? Number(room) : 0
}

async function findLastId(db: Db): Promise<bigint> {
  const { rows } = await sql<{ id: string }>`select last_value as id from event_id`.execute(db)
  return BigInt(rows[0]?.id ?? 0)
}

/** The ids of an average day of the last week. Ids that a restore left out lie between two partitions. */
async function measureRange(db: Db, partitions: readonly Partition[]): Promise<bigint> {
  let ids = 0n
  for (const name of ['event_default', ...partitions.map(each => each.name)]) {
    const table = sql.table(name)
    const { rows } = await sql<{ first: string | null; last: string | null }>`
      select (
        select id from ${table} where created_at > clock_timestamp() - make_interval(days => ${Number(MEASURED_DAYS)})
        order by created_at limit 1
      ) as first, (select id from ${table} order by created_at desc limit 1) as last
    `.execute(db)
    const { first, last } = rows[0] ?? {}
    if (first && last && BigInt(last) > BigInt(first)) ids += BigInt(last) - BigInt(first)
  }
  const daily = ids / MEASURED_DAYS
  if (daily < RANGE_IDS_MIN) return RANGE_IDS_MIN
  return daily > RANGE_IDS_MAX ? RANGE_IDS_MAX : daily
}

/** The age of the youngest event; null if there is none. */
async function findAgeDays(db: Db, { name }: Partition): Promise<number | null> {
  const { rows } = await sql<{ days: number }>`
    select (extract(epoch from clock_timestamp() - created_at) / 86400)::float8 as days from ${sql.table(name)}
    order by created_at desc limit 1
  `.execute(db)
  return rows[0]?.days ?? null
}

async function isOver(db: Db, partition: Partition, retentionDays: number): Promise<boolean> {
  const ageDays = await findAgeDays(db, partition)
  if (ageDays === null || ageDays > retentionDays + UNHANDLED_DAYS_MAX) return true
  return ageDays > retentionDays && !(await hasUnhandled(db, partition))
}

/** Whether a follower has not handled an event of the range. A follower with a position follows all tenants. */
async function hasUnhandled(db: Db, { name }: Partition): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (
      select from (select distinct name from event_follower) as follower cross join tenant
      left join event_follower as position on position.name = follower.name and position.tenant_id = tenant.id
      where exists (
        select from ${sql.table(name)} as event
        where event.tenant_id = tenant.id and event.id > coalesce(position.after_id, 0) offset 0
      )
    ) as has
  `.execute(db)
  return rows[0]?.has ?? false
}

/** Runs `work` in a transaction that waits only briefly for a lock, and again if it could not have it. */
async function withTableLock<T>(
  db: Db,
  signal: AbortSignal,
  work: (tx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction().execute(async tx => {
        await sql`select set_config('lock_timeout', ${`${LOCK_WAIT_MILLISECONDS}ms`}, true)`.execute(tx)
        await sql`select pg_advisory_xact_lock(${PARTITION_LOCK})`.execute(tx)
        return work(tx)
      })
    } catch (error) {
      const isLockTimeout = error instanceof DatabaseError && error.code === '55P03'
      if (!isLockTimeout || tries >= LOCK_TRIES_MAX || signal.aborted) throw error
      await pause(LOCK_PAUSE_MILLISECONDS, signal)
    }
  }
}
