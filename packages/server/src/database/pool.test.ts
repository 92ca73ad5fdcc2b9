/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { type Database, openDatabase } from './pool.ts'
import { statementNames } from './statement-names.ts'
import { DatabaseUnavailable } from './unavailable.ts'

/** Another pool for the same database. */
function openTestDatabaseAgain({ address }: Database): Database {
  return openDatabase({ address, applicationName: 'waxwing test' })
}

describe('openDatabase', () => {
  test('survives a connection that breaks within a transaction, and continues with another', async () => {
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

  test('reads bytes into memory of their own', async () => {
    await using database = await openTestDatabase()
    const { rows } = await sql<{ key: Buffer }>`select '\\x00ff10'::bytea as key`.execute(database.db)
    expect(rows).toEqual([{ key: Buffer.of(0, 255, 16) }])
    expect(rows[0]?.key.buffer.byteLength).toBe(3)
  })

  test('loses a transaction that its process left open for too long, and goes on with another connection', async () => {
    await using database = await openTestDatabase({ connectionsMax: 1 })
    const { db } = database
    await sql`create table kept (id int)`.execute(db)
    await using watching = openTestDatabaseAgain(database)
    const failure = await db
      .transaction()
      .execute(async tx => {
        await sql`set local idle_in_transaction_session_timeout = '200ms'`.execute(tx)
        await sql`insert into kept values (1)`.execute(tx)
        await waitUntil('the server to end it', async () => {
          const { rows } = await sql`
            select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
          `.execute(watching.db)
          return rows.length === 0
        })
        await sql`insert into kept values (2)`.execute(tx)
      })
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(DatabaseUnavailable)
    expect((await sql`select id from kept`.execute(db)).rows).toEqual([])
  })

  test('limits statements and idle transactions', async () => {
    await using database = await openTestDatabase()
    const { rows } = await sql`
      select current_setting('statement_timeout') as statement, current_setting('application_name') as name,
        current_setting('idle_in_transaction_session_timeout') as idle`.execute(database.db)
    expect(rows).toEqual([{ statement: '30s', idle: '5s', name: 'waxwing test' }])
  })
})

describe('a database that is frozen', () => {
  /** Stops the server process of the next connection until disposed. */
  async function freezeConnection({ db }: Pick<Database, 'db'>) {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
    const pid = rows[0]?.pid ?? 0
    process.kill(pid, 'SIGSTOP')
    return { [Symbol.dispose]: () => void process.kill(pid, 'SIGCONT') }
  }
  // A busy machine, too, answers what is not frozen within this time.
  const open = () => openTestDatabase({ connectionsMax: 1, answerSeconds: 5 })
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: unknown) => error,
    )

  async function freezeStatement() {
    await using database = await open()
    using _frozen = await freezeConnection(database)
    const failure = await failureOf(sql`select 1`.execute(database.db))
    expect(failure).toBeInstanceOf(DatabaseUnavailable)
    expect(failure).toMatchObject({ mayHaveTakenEffect: false })
    expect((await sql`select 1 as one`.execute(database.db)).rows).toEqual([{ one: 1 }])
  }

  /** Freezes a transaction before this statement, or before its commit. */
  async function freezeTransaction(statement: string | null) {
    const mayBe = statement === null
    await using database = await open()
    await sql`create table kept (id int)`.execute(database.db)
    let frozen: Disposable | null = null
    const failure = await failureOf(
      database.db.transaction().execute(async tx => {
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
        await sql`insert into kept values (1)`.execute(tx)
        frozen = await freezeConnection({ db: tx })
        if (statement) await sql.raw(statement).execute(tx)
      }),
    )
    frozen![Symbol.dispose]()
    expect(failure).toMatchObject({ name: 'DatabaseUnavailable', mayHaveTakenEffect: mayBe })
    await waitUntil('the abandoned connection ends', async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from pg_stat_activity where datname = current_database()`.execute(
        database.db,
      )
      return rows[0]?.count === 1
    })
    const { rows } = await sql`select id from kept`.execute(database.db)
    expect(rows).toEqual(mayBe ? [{ id: 1 }] : [])
  }

  // They wait for the same time limit, so they do it at once.
  test('fails a statement within its time limit, runs the next one on another connection, and reports whether a transaction may be committed', async () => {
    const ends = await Promise.allSettled([
      freezeStatement(),
      freezeTransaction('select 1'),
      freezeTransaction(null),
    ])
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([])
  })
})

describe('statementNames', () => {
  test('gives a text the same name in every process, and no names after too many texts', () => {
    const nameOf = statementNames(2)
    expect(nameOf('select $1')).toBe(statementNames()('select $1'))
    expect(nameOf('select $1, $2')).not.toBe(nameOf('select $1'))
    expect(nameOf('select $1, $2, $3')).toBeUndefined()
    expect(nameOf('select $1')).toBeDefined()
  })
})
