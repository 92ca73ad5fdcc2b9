/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleTenant } from '../../test/sample-rows.ts'
import { readMigrations } from '../database/migration-file.ts'
import type { Db } from '../database/pool.ts'
import { silentLog } from '../kit/log.ts'
import { dropOldPartitions, findDropSoon, listPartitions, makePartitions, measureRoom } from './partitions.ts'

const MILLION = 1_000_000n
const signal = new AbortController().signal
const make = (db: Db, rangeIds?: bigint) =>
  makePartitions(db, { log: silentLog, signal, ...(rangeIds ? { rangeIds } : {}) })
const drop = (db: Db, retentionDays: number) =>
  dropOldPartitions(db, { retentionDays, log: silentLog, signal })

const ranges = async (db: Db) => (await listPartitions(db)).map(({ from, to }) => [from, to])
const skipTo = (db: Db, id: bigint) => sql`select setval('event_id', ${String(id)}::bigint - 1)`.execute(db)

/** Adds one event for each age in days. @returns the partitions that they went into */
async function addEvents(db: Db, tenantId: string, ages: readonly number[]): Promise<string[]> {
  const { rows } = await sql<{ partition: string }>`
    insert into event (tenant_id, id, type, data, created_at)
    select ${tenantId}::uuid, nextval('event_id'), 'account.updated', '{}', clock_timestamp() - make_interval(days => age)
    from unnest(${[...ages]}::int[]) as age
    returning tableoid::regclass::text as partition
  `.execute(db)
  return rows.map(({ partition }) => partition)
}

const countEvents = async (db: Db) =>
  (await sql<{ count: number }>`select count(*)::int as count from event`.execute(db)).rows[0]?.count

describe('the partitions of the events', () => {
  test('stand two ranges ahead, whatever the last id', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const first = [
      [null, MILLION],
      [MILLION, 2n * MILLION],
      [2n * MILLION, 3n * MILLION],
    ]
    await make(db)
    expect(await ranges(db)).toEqual(first)
    await skipTo(db, MILLION + 1n)
    await make(db)
    await make(db)
    expect(await ranges(db)).toEqual([...first, [3n * MILLION, 4n * MILLION]])
    expect(await measureRoom(db)).toBe(3 * Number(MILLION))
  })

  test('hold a day of the last week, and leave out the ids between two of them', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { id } = await sampleTenant(db)
    await addEvents(db, id, [3])
    await skipTo(db, 900_000n)
    await addEvents(db, id, [3])
    await sql`drop table event_1000000, event_2000000`.execute(db)
    await skipTo(db, 1_000_000_000_000n)
    expect(await addEvents(db, id, [2])).toEqual(['event_default'])
    await skipTo(db, 1_000_020_000_000n)
    expect(await addEvents(db, id, [1])).toEqual(['event_default'])
    expect(await measureRoom(db)).toBe(0)

    await make(db)
    const from = 1_000_020_000_000n + 100_000n
    const daily = (900_000n - 1n + 20_000_000n) / 7n
    const made = (await ranges(db)).slice(1)
    expect(made.map(([start]) => start)).toEqual([from, from + daily])
    await skipTo(db, from)
    expect(await addEvents(db, id, [0])).toEqual([`event_${from}`])
    // Nothing that the default holds is lost.
    expect(await countEvents(db)).toBe(5)
  })

  test('go when all their events are older than the longest retention, the first ones first', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { id } = await sampleTenant(db)
    await addEvents(db, id, [20, 19, 18])
    await skipTo(db, MILLION)
    await addEvents(db, id, [17, 6])
    await skipTo(db, 2n * MILLION)
    await addEvents(db, id, [5])

    expect(await findDropSoon(db, 7)).toBe(String(2n * MILLION))
    expect(await findDropSoon(db, 9)).toBe(String(MILLION))
    await drop(db, 19)
    expect(await countEvents(db)).toBe(6)
    await drop(db, 17)
    expect(await ranges(db)).toEqual([
      [MILLION, 2n * MILLION],
      [2n * MILLION, 3n * MILLION],
    ])
    expect(await countEvents(db)).toBe(3)
    // The last one is still in use.
    await drop(db, 1)
    expect(await ranges(db)).toEqual([[2n * MILLION, 3n * MILLION]])
    expect(await addEvents(db, id, [0])).toEqual(['event_2000000'])
  })

  test('stay a week longer for a follower that has not handled their events', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { id } = await sampleTenant(db)
    await addEvents(db, id, [10, 10])
    await skipTo(db, MILLION)
    await addEvents(db, id, [0])
    await sql`insert into event_follower (name, tenant_id, after_id) values ('slow', ${id}, 1)`.execute(db)
    await drop(db, 7)
    expect(await countEvents(db)).toBe(3)
    await sql`update event_follower set after_id = 2`.execute(db)
    await drop(db, 7)
    expect(await countEvents(db)).toBe(1)
  })

  test('stay a week longer for a tenant that a follower has not begun with, and no longer', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { id } = await sampleTenant(db)
    const other = await sampleTenant(db)
    await addEvents(db, id, [10])
    await skipTo(db, MILLION)
    await addEvents(db, other.id, [0])
    await sql`insert into event_follower (name, tenant_id, after_id) values ('slow', ${other.id}, 1)`.execute(
      db,
    )
    await drop(db, 7)
    expect(await countEvents(db)).toBe(2)
    await drop(db, 2)
    expect(await countEvents(db)).toBe(1)
  })
})

test('the migration keeps every event, and its id, of a table without partitions', async () => {
  await using database = await openTestDatabase({ migrated: false })
  const { db, pool } = database
  const migrations = await readMigrations()
  const nth = migrations.findIndex(({ name }) => name.endsWith('_event_partitions'))
  for (const migration of migrations.slice(0, nth)) await pool.query(migration.sql)
  await skipTo(db, 4_200_000n)
  const { id } = await sampleTenant(db)
  await sql`
    insert into event (tenant_id, id, type, data)
    select ${id}::uuid, nextval('event_id'), 'account.updated', '{}' from generate_series(1, 5000)
  `.execute(db)
  const idsOf = async () =>
    (await sql<{ id: string }>`select id from event where tenant_id = ${id} order by event.id`.execute(db))
      .rows
  const before = await idsOf()

  await pool.query(migrations[nth]!.sql)
  expect(await idsOf()).toEqual(before)
  expect(await ranges(db)).toEqual([
    [null, 5n * MILLION],
    [5n * MILLION, 6n * MILLION],
    [6n * MILLION, 7n * MILLION],
  ])
  expect(await addEvents(db, id, [0])).toEqual(['event_first'])
})
