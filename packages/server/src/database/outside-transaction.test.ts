import { sql } from 'kysely'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { applyMigrations, migrate } from './migrate.ts'
import { type Migration, parseMigration } from './migration-file.ts'
import { clientSettings, type Database, type Db } from './pool.ts'

const ROWS = 5_000
const TABLE = parseMigration('0001_table.sql', 'create table a (id int primary key, b int, c int)')
const SERVES = '-- Serves releases from 0001 on.\n'
const INDEX = parseMigration(
  '0002_index.sql',
  `${SERVES}create table d (id int);
-- Outside a transaction:
create index concurrently a_b on a (b) where b > 0; -- a comment
analyze a;`,
)
const BATCHES = parseMigration(
  '0002_batches.sql',
  `${SERVES}-- Outside a transaction:
update a set c = b where id in (select id from a where c is null order by id limit 1000);
alter table a validate constraint nothing`,
)
const PARTITIONS = [
  parseMigration(
    '0001_partitions.sql',
    `create table a (id int, b int) partition by range (id);
     create table a_1 partition of a for values from (0) to (1000);
     create table a_2 partition of a for values from (1000) to (2000)`,
  ),
  parseMigration(
    '0002_index.sql',
    `${SERVES}-- Outside a transaction:\ncreate index concurrently a_b on a (b)`,
  ),
]

async function openFilled(migrations: Migration[] = [TABLE]): Promise<Database> {
  const database = await openTestDatabase({ migrated: false })
  await migrate(database.address, migrations)
  return database
}

/** Rows to change, and a constraint to validate afterwards. */
async function openWithRows() {
  const database = await openFilled()
  const { db } = database
  await sql`insert into a select n, n from generate_series(1, ${ROWS}::int) as n`.execute(db)
  await sql`alter table a add constraint nothing check (b > 0) not valid`.execute(db)
  return database
}

/** Valid and invalid indexes that were made for the migrations, with their tables. */
async function listIndexes(db: Db): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select format('%s on %s%s', indexrelid::regclass, indrelid::regclass, case when indisvalid then '' else ' invalid' end) as line
    from pg_index where indexrelid::regclass::text like '%a_b' order by line
  `.execute(db)
  return rows.map(({ line }) => line)
}

async function listUnfinished(db: Db): Promise<string[]> {
  const { rows } = await sql<{
    name: string
  }>`select name from schema_migration where not is_finished`.execute(db)
  return rows.map(({ name }) => name)
}

/** Ends the session of the process that migrates, as happens when its machine is lost. */
async function killMigrator(db: Db) {
  const { rows } = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'waxwing migrate' and datname = current_database()
  `.execute(db)
  expect(rows).toHaveLength(1)
}

/** Does the work in a transaction that may rest for as long as it takes. */
const holdOpen = <T>(db: Db, work: (tx: Db) => Promise<T>) =>
  db.transaction().execute(async tx => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
    return work(tx)
  })

/** Migrates until a condition holds, kills the migration, and migrates again. */
async function killWhen(database: Database, migrations: Migration[], condition: () => Promise<boolean>) {
  const failed = migrate(database.address, migrations).then(
    () => Promise.reject(new Error('It was not killed')),
    () => {},
  )
  await waitUntil('the middle of the migration', condition)
  await killMigrator(database.db)
  await failed
}

describe('a migration that was killed', () => {
  test('makes a concurrent index again that was left invalid', async () => {
    await using database = await openFilled()
    const { address, db } = database
    await holdOpen(db, async tx => {
      // The index is there and waits for those that may not know of it.
      await sql`insert into a values (1)`.execute(tx)
      const isWaiting = async () => (await listIndexes(db)).join() === 'a_b on a invalid'
      await killWhen(database, [TABLE, INDEX], isWaiting)
    })
    expect(await listUnfinished(db)).toEqual(['0002_index'])
    // The release before it works on what is there.
    expect(await migrate(address, [TABLE])).toEqual([])

    expect(await migrate(address, [TABLE, INDEX])).toEqual(['0002_index'])
    expect(await listIndexes(db)).toEqual(['a_b on a'])
    expect(await listUnfinished(db)).toEqual([])
    expect(await migrate(address, [TABLE, INDEX])).toEqual([])
  })

  test('changes the rest of the rows', async () => {
    await using database = await openWithRows()
    const { address, db } = database
    const countLeft = async () =>
      (await sql<{ left: number }>`select count(*)::int as left from a where c is null`.execute(db)).rows[0]!
        .left
    await holdOpen(db, async tx => {
      await sql`select from a where id = 2500 for update`.execute(tx)
      await killWhen(database, [TABLE, BATCHES], async () => (await countLeft()) === 3_000)
    })
    expect(await countLeft()).toBe(3_000)

    expect(await migrate(address, [TABLE, BATCHES])).toEqual(['0002_batches'])
    expect(await countLeft()).toBe(0)
    const { rows } = await sql`select from pg_constraint where conname = 'nothing' and convalidated`.execute(
      db,
    )
    expect(rows).toHaveLength(1)
  })

  test('leaves nothing of the part that is a transaction', async () => {
    await using database = await openFilled()
    const { address, db } = database
    const slow = parseMigration('0002_slow.sql', `${SERVES}create table c (id int); select pg_sleep(60)`)
    await killWhen(database, [TABLE, slow], async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
      `.execute(db)
      return rows.length > 0
    })
    expect(await migrate(address, [TABLE])).toEqual([])
    const quick = { ...slow, sql: 'create table c (id int)' }
    expect(await migrate(address, [TABLE, quick])).toEqual(['0002_slow'])
  })
})

describe('a change in batches', () => {
  test('ends although every batch finds a row that an older release has added', async () => {
    await using database = await openWithRows()
    const { address, db } = database
    await sql`create sequence added start ${sql.lit(ROWS + 1)}`.execute(db)
    await sql`
      create function add() returns trigger language plpgsql as
        'begin insert into a values (nextval(''added''), 1); return null; end'
    `.execute(db)
    await sql`create trigger add after update on a execute function add()`.execute(db)
    expect(await migrate(address, [TABLE, BATCHES])).toEqual(['0002_batches'])
    const { rows } = await sql`select from a where c is null and id <= ${ROWS}`.execute(db)
    expect(rows).toEqual([])
  })

  test('goes on after a batch whose rows were deleted while it waited for them', async () => {
    await using database = await openWithRows()
    const { address, db } = database
    const migrating = await holdOpen(db, async tx => {
      await sql`delete from a where id <= 1000`.execute(tx)
      const started = migrate(address, [TABLE, BATCHES])
      await waitUntil('the batch to wait', async () => {
        const { rows } = await sql`
          select from pg_stat_activity
          where application_name = 'waxwing migrate' and datname = current_database() and wait_event_type = 'Lock'
        `.execute(db)
        return rows.length > 0
      })
      return { done: started }
    })
    expect(await migrating.done).toEqual(['0002_batches'])
    const { rows } = await sql`select from a where c is null`.execute(db)
    expect(rows).toEqual([])
  })
})

describe('an index of a partitioned table', () => {
  test('is made on each partition beside writes, and goes on after a kill', async () => {
    await using database = await openFilled(PARTITIONS.slice(0, 1))
    const { address, db } = database
    await holdOpen(db, async tx => {
      await sql`insert into a_2 values (1001, 1)`.execute(tx)
      await killWhen(database, PARTITIONS, async () =>
        (await listIndexes(db)).includes('a_2_a_b on a_2 invalid'),
      )
      // A partition that comes meanwhile has the index at once.
      await sql`create table a_3 (like a); alter table a attach partition a_3 for values from (2000) to (3000)`.execute(
        db,
      )
    })
    expect(await migrate(address, PARTITIONS)).toEqual(['0002_index'])
    expect(await listIndexes(db)).toEqual(['a_1_a_b on a_1', 'a_2_a_b on a_2', 'a_b on a'])
    const { rows } = await sql`select from pg_index where indrelid = 'a_3'::regclass and indisvalid`.execute(
      db,
    )
    expect(rows).toHaveLength(1)
  })
})

test('a restore runs the same statements in its transaction', async () => {
  await using database = await openTestDatabase({ migrated: false })
  const { address, db } = database
  const client = new Client(clientSettings(address, 'waxwing test'))
  await client.connect()
  try {
    await client.query('begin')
    await applyMigrations(client, [TABLE, INDEX])
    await client.query('commit')
  } finally {
    await client.end()
  }
  expect(await listIndexes(db)).toEqual(['a_b on a'])
  expect(await migrate(address, [TABLE, INDEX])).toEqual([])
})
