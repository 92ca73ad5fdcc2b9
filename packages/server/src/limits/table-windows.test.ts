/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { createTableWindows, sweepRateWindows } from './table-windows.ts'

const LIMIT = 10
/** A window that does not end while a test runs. */
const MONTH_MINUTES = 30 * 24 * 60

test('counts that are added are added to those of the current window only', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const windows = createTableWindows(db, MONTH_MINUTES)
  const left = async (name: string) => (await windows.count([{ name, limit: LIMIT }]))?.remaining
  expect(await left('current')).toBe(9)
  await db.insertInto('rate_window').values({ name: 'ended', number: '1', count: 7 }).execute()

  await windows.add([
    { name: 'current', count: 3 },
    { name: 'ended', count: 2 },
  ])

  expect([await left('current'), await left('ended')]).toEqual([5, 7])
})

test('windows on which nothing was counted for an hour are swept', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  await createTableWindows(db).count([{ name: 'now', limit: LIMIT }])
  await sql`
    insert into rate_window (name, number, count)
    select name, floor(extract(epoch from clock_timestamp()) / 60)::bigint - minutes, 1
    from (values ('within the hour', 57), ('an hour ago', 62)) as counted (name, minutes)
  `.execute(db)

  await sweepRateWindows(db)

  const kept = await db.selectFrom('rate_window').select('name').orderBy('name').execute()
  expect(kept.map(({ name }) => name)).toEqual(['now', 'within the hour'])
})
