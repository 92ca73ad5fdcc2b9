import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { statementNames } from './statement-names.ts'

describe('openDatabase', () => {
  test('outlives a connection that breaks while a transaction holds it, and goes on with another', async () => {
    await using database = await openTestDatabase({ connectionsMax: 2 })
    const { db } = database
    const broken = db.transaction().execute(async tx => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
      await sql`select pg_terminate_backend(${rows[0]?.pid}::int, 5000)`.execute(db)
      await sql`select 1`.execute(tx)
    })
    await expect(broken).rejects.toThrow()
    expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }])
  })

  test('limits statements and idle transactions', async () => {
    await using database = await openTestDatabase()
    const { rows } = await sql`
      select current_setting('statement_timeout') as statement, current_setting('application_name') as name,
        current_setting('idle_in_transaction_session_timeout') as idle`.execute(database.db)
    expect(rows).toEqual([{ statement: '30s', idle: '1min', name: 'waxwing test' }])
  })
})

describe('statementNames', () => {
  test('gives a text the same name in every process, and none once there are too many', () => {
    const nameOf = statementNames(2)
    expect(nameOf('select $1')).toBe(statementNames()('select $1'))
    expect(nameOf('select $1, $2')).not.toBe(nameOf('select $1'))
    expect(nameOf('select $1, $2, $3')).toBeUndefined()
    expect(nameOf('select $1')).toBeDefined()
  })
})
