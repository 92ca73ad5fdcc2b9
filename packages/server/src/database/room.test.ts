import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { sql } from 'kysely'

test('a write that finds no room is believed for a while, and then the database is asked, also as no superuser', async () => {
  await using database = await openTestDatabase({ connectionsMax: 1 })
  await database.pool.query('set role pg_read_all_data')
  expect(await database.hasRoom()).toBe(true)
  const failing = sql`do $$ begin raise exception using errcode = '53100'; end $$`.execute(database.db)
  await expect(failing).rejects.toMatchObject({ code: '53100' })
  expect(await database.hasRoom()).toBe(false)
  await waitUntil('room is found', () => database.hasRoom())
})
