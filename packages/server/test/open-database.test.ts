import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { newId } from '../src/kit/ids.ts'
import { openTestDatabase } from './open-database.ts'

describe('openTestDatabase', () => {
  test('gives each test a migrated database of its own', async () => {
    await using one = await openTestDatabase()
    await using other = await openTestDatabase()
    await one.db.insertInto('tenant').values({ id: newId(), name: 'ada', settings: '{}' }).execute()

    expect(await one.db.selectFrom('tenant').select('name').execute()).toEqual([{ name: 'ada' }])
    expect(await other.db.selectFrom('tenant').select('name').execute()).toEqual([])
  })

  test('prepares a statement with parameters once per connection', async () => {
    await using database = await openTestDatabase({ connectionsMax: 1 })
    const { db } = database
    for (const name of ['ada', 'bob']) {
      await db.insertInto('tenant').values({ id: newId(), name, settings: '{}' }).execute()
    }
    const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(
      db,
    )
    expect(rows.map(row => row.statement)).toEqual([expect.stringContaining('insert into "tenant"')])
  })

  test('recovers from statements whose columns a migration changed', async () => {
    await using database = await openTestDatabase({ connectionsMax: 1 })
    const { db } = database
    const read = () => sql`select * from tenant where name = ${'ada'}`.execute(db)
    await read()
    await sql`alter table tenant add column colour text`.execute(db)

    await expect(read()).rejects.toThrow('cached plan must not change result type')
    expect((await read()).rows).toEqual([])
  })
})
