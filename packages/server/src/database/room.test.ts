import { sql } from 'kysely'
import { afterEach, expect, test, vi } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import type { Db } from './pool.ts'

afterEach(() => vi.restoreAllMocks())

/** Holds the clock by which a refused write counts for five seconds. */
function holdClock() {
  // Whole, so that five seconds later is not a little less than that.
  let now = Math.ceil(performance.now())
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  return { pass: (seconds: number) => void (now += seconds * 1000) }
}

const failWith = (db: Db, code: string) =>
  sql`do $$ begin raise exception using errcode = ${sql.lit(code)}; end $$`.execute(db)

test.each([
  ['finds room', 'set role pg_read_all_data'],
  ['fails for a limit on temporary files', `set role pg_read_all_data; set temp_file_limit = '100kB'`],
])('a write that fails for lack of space counts for a while, until a check %s', async (_, settings) => {
  await using database = await openTestDatabase({ connectionsMax: 1 })
  const { db, findWriteProblem } = database
  const clock = holdClock()
  // Only a superuser can set the limit, and another role makes the check.
  for (const setting of settings.split('; ').toReversed()) await database.pool.query(setting)
  expect(await findWriteProblem()).toBeNull()
  await expect(failWith(db, '53200')).rejects.toMatchObject({ code: '53200' })
  expect(await findWriteProblem()).toBeNull()
  await expect(failWith(db, '53100')).rejects.toMatchObject({ code: '53100' })
  expect(await findWriteProblem()).toContain('The disk of the database is full.')
  clock.pass(5)
  expect(await findWriteProblem()).toBeNull()
})

test('a read-only database has its own message until it accepts writes again', async () => {
  await using database = await openTestDatabase({ connectionsMax: 1 })
  const { db, pool, findWriteProblem } = database
  const clock = holdClock()
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  const setReadOnly = (isOn: boolean) =>
    pool.query(
      `begin read write; alter database ${rows[0]!.name} set default_transaction_read_only = ${isOn}; commit`,
    )
  await setReadOnly(true)
  await pool.query('set default_transaction_read_only = true')
  await expect(sql`create table other (id int)`.execute(db)).rejects.toMatchObject({ code: '25006' })
  // Believed at first, and then found by looks.
  for (let look = 0; look < 3; look++) {
    expect(await findWriteProblem()).toContain('The database can only be read.')
    clock.pass(5)
  }
  await setReadOnly(false)
  await pool.query('set default_transaction_read_only = false')
  expect(await findWriteProblem()).toBeNull()
})
