/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import product from '../../package.json' with { type: 'json' }
import { openTestDatabase } from '../../test/open-database.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { newId } from '../kit/ids.ts'
import { migrate, serverVersionProblem } from './migrate.ts'
import { type Migration, parseMigration, readMigrations } from './migration-file.ts'
import { openDatabase } from './pool.ts'
import { processName } from './schema-fit.ts'

function migration(version: number, text: string): Migration {
  return parseMigration(`${version}_test.sql`, text)
}

describe('migrate', () => {
  test('applies missing migrations once, however many processes start at the same time', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const wanted = [migration(1, 'create table a (id int)'), migration(2, 'insert into a values (1)')]
    const applied = await Promise.all([1, 2, 3].map(() => migrate(address, wanted)))

    expect(applied.flat()).toEqual(['1_test', '2_test'])
    expect((await sql`select id from a`.execute(db)).rows).toEqual([{ id: 1 }])
    expect(await migrate(address, [...wanted, migration(3, 'insert into a values (2)')])).toEqual(['3_test'])
  })

  test('rolls back a migration that fails', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const broken = migration(1, 'create table a (id int); select no_such_function()')

    await expect(migrate(address, [broken])).rejects.toThrow('no_such_function')
    expect((await sql`select to_regclass('a') as a`.execute(db)).rows).toEqual([{ a: null }])
    expect(await migrate(address, [migration(1, 'create table a (id int)')])).toEqual(['1_test'])
  })

  test('names the statement for an administrator if it must not create an extension, or the package if there is none', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const role = `stranger_${newId().replaceAll('-', '')}`
    await sql`create role ${sql.ref(role)} login password 'stranger'`.execute(db)
    await sql`grant create on schema public to ${sql.ref(role)}`.execute(db)
    try {
      const trigrams = migration(1, 'create extension if not exists pg_trgm')
      const asStranger = { ...address, user: role, password: 'stranger' } as typeof address
      await expect(migrate(asStranger, [trigrams])).rejects.toThrow(
        '"create extension pg_trgm" in this database',
      )
      const unknown = migration(1, 'create extension if not exists no_such_extension')
      await expect(migrate(address, [unknown])).rejects.toThrow('which the server lacks')
      await sql`create extension pg_trgm`.execute(db)
      expect(await migrate(asStranger, [trigrams])).toEqual(['1_test'])
    } finally {
      await sql`drop owned by ${sql.ref(role)} cascade`.execute(db)
      await sql`drop role ${sql.ref(role)}`.execute(db)
    }
  })

  test('gives up quickly on a locked table, and retries', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    await migrate(address, [migration(1, 'create table a (id int)')])
    const holding = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const holder = db.transaction().execute(async tx => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
      await sql`lock table a in access share mode`.execute(tx)
      holding.resolve()
      await released.promise
    })
    await holding.promise
    const migrating = migrate(address, [
      migration(1, 'create table a (id int)'),
      migration(2, 'alter table a add column b int'),
    ])
    // Other statements get through between two attempts: a waiting `alter table` would stop them.
    for (let reads = 0; reads < 3; reads++) await sql`select * from a`.execute(db)
    released.resolve()
    await holder
    expect(await migrating).toEqual(['2_test'])
  })

  test('keeps missing messages and releases accounts of dead processes (0009)', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const all = await readMigrations()
    await migrate(
      address,
      all.filter(({ version }) => version < 9),
    )
    await sql`
      with ids (tenant, instance) as (select gen_random_uuid(), gen_random_uuid()),
      tenants as (insert into tenant (id, name, settings) select tenant, 'a', '{}' from ids),
      instances as (insert into instance (id, heartbeat_until) select instance, now() from ids),
      accounts as (
        insert into account (id, tenant_id, provider, email, auth_method, owner_instance)
        select gen_random_uuid(), tenant, 'imap', email, 'password', case email when 'owned' then instance else tenant end
        from ids, unnest(array['owned', 'orphan']) as email returning id, tenant_id, email
      )
      insert into message (id, tenant_id, account_id, identity, mailbox_ids, subject, "to", cc, bcc, reply_to, sender_text,
        recipients_text, snippet, received_at, is_read, is_flagged, is_draft, has_attachments, categories, direction, size,
        missing_since)
      select gen_random_uuid(), tenant_id, accounts.id, gen_random_uuid(), '{}', subject, '[]', '[]', '[]', '[]', '', '', '',
        now(), true, false, false, false, '{}', 'inbound', 1, since
      from accounts, (values ('in place', null::timestamptz), ('missing', now()), ('renumbered', 'infinity')) as m (subject, since)
      where email = 'owned'
    `.execute(db)
    await migrate(address, all)

    const messages = await sql`select subject, missing_look from message order by subject`.execute(db)
    expect(messages.rows).toEqual([
      { subject: 'in place', missing_look: null },
      { subject: 'missing', missing_look: 0 },
      { subject: 'renumbered', missing_look: Number.POSITIVE_INFINITY },
    ])
    const accounts = await sql`
      select email, owner_instance is not null as is_owned from account order by email
    `.execute(db)
    expect(accounts.rows).toEqual([
      { email: 'orphan', is_owned: false },
      { email: 'owned', is_owned: true },
    ])
  })

  test('accepts a schema that a newer release left working, and refuses any other', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const ours = [migration(1, 'create table a (id int)'), migration(2, 'alter table a add column b int')]
    const newer = [...ours, migration(3, '-- Serves releases from 0002 on.\nalter table a add column c int')]
    await migrate(address, newer)

    expect(await migrate(address, ours)).toEqual([])
    const older = migrate(address, ours.slice(0, 1))
    await expect(older).rejects.toThrow(
      `The database was changed by release ${product.version} of Waxwing (migration 2_test), and no longer serves this ` +
        `release. The newest migration of this one is 0001. Run release ${product.version}, or a newer one.`,
    )
    await sql`delete from schema_migration where version = 2`.execute(db)
    await expect(migrate(address, ours.slice(0, 1))).rejects.toThrow(
      'Since then it serves only releases that have migration 0002; the newest migration of this one is 0001.',
    )
  })

  test('refuses a database that was used by a newer release that does not say which it leaves working', async () => {
    await using database = await openTestDatabase()
    const { address, db } = database
    await sql`insert into schema_migration (version, name, checksum) values (9999, '9999_from_the_future', 'x')`.execute(
      db,
    )
    await expect(migrate(address)).rejects.toThrow(
      'The database was changed by a newer release of Waxwing (migration 9999_from_the_future), and no longer serves',
    )
  })

  test('takes up a database that was migrated by a release without these columns', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const [first, second] = [migration(1, 'create table a (id int)'), migration(2, 'create table b (id int)')]
    await migrate(address, [first])
    await sql`alter table schema_migration drop column serves, drop column release, drop column is_finished`.execute(
      db,
    )
    expect(await migrate(address, [first])).toEqual([])
    expect(await migrate(address, [first, second])).toEqual(['2_test'])
  })

  test('waits for nobody if the database has everything', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const wanted = [migration(1, 'create table a (id int)')]
    await migrate(address, wanted)
    await db.connection().execute(async other => {
      await sql`select pg_advisory_lock(${0x57_41_58_4d})`.execute(other)
      expect(await migrate(address, wanted)).toEqual([])
      await sql`select pg_advisory_unlock_all()`.execute(other)
    })
  })

  test('refuses a schema that another process changed while it waited for that one', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const first = migration(1, 'create table a (id int)')
    await migrate(address, [first])
    await db.connection().execute(async other => {
      await sql`select pg_advisory_lock(${0x57_41_58_4d})`.execute(other)
      const migrating = migrate(address, [first, migration(2, 'create table b (id int)')])
      const refused = expect(migrating).rejects.toThrow('no longer serves this release')
      await waitUntil('it to wait', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and application_name = 'waxwing migrate'
            and query like 'select pg_try_advisory_lock%'
        `.execute(db)
        return rows.length > 0
      })
      await sql`insert into schema_migration (version, name, checksum) values (3, '3_test', 'x')`.execute(
        other,
      )
      await sql`select pg_advisory_unlock_all()`.execute(other)
      await refused
    })
    expect((await sql`select to_regclass('b') as b`.execute(db)).rows).toEqual([{ b: null }])
  })

  test('has times of its own for statements and pauses, whatever the settings of the database', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const { rows: names } = await sql<{ name: string }>`select current_database() as name`.execute(db)
    for (const setting of ['statement_timeout', 'idle_in_transaction_session_timeout'])
      await sql`alter database ${sql.id(names[0]!.name)} set ${sql.raw(setting)} = '1h'`.execute(db)
    const noting = `create table a as select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as pause`

    await migrate(address, [migration(1, noting)])

    expect((await sql`select statement, pause from a`.execute(db)).rows).toEqual([
      { statement: '0', pause: '1min' },
    ])
  })

  test('leaves no process of an older release on a schema that does not serve it', async () => {
    await using database = await openTestDatabase({ migrated: false })
    const { address, db } = database
    const ours = [migration(1, 'create table a (b int)')]
    const newer = [
      ...ours,
      migration(2, '-- Serves releases from 0001 on.\ncreate table c (id int)'),
      migration(3, '-- Serves releases from 0002 on: nothing reads b.\nalter table a drop column b'),
    ]
    await migrate(address, newer.slice(0, 2))
    // The second one is of a release that did not say its schema.
    for (const applicationName of [processName('service', 1), 'waxwing service, process 1']) {
      {
        await using older = openDatabase({ address, applicationName })
        await older.pool.query('select')
        await expect(migrate(address, newer)).rejects.toThrow(
          `A process of an older release uses the database ("${applicationName}")`,
        )
      }
      await waitUntil('it to be gone', async () => {
        const { rows } = await sql`
          select from pg_stat_activity
          where datname = current_database() and application_name = ${applicationName}
        `.execute(db)
        return rows.length === 0
      })
    }
    await using recent = openDatabase({ address, applicationName: processName('service', 2) })
    // Held, since the pool closes a connection that rests.
    await recent.db.connection().execute(async held => {
      await sql`select`.execute(held)
      await expect(
        migrate(address, [...newer.slice(0, 2), migration(3, 'alter table a drop column b')]),
      ).rejects.toThrow('A process of an older release uses the database')
      expect(
        await waitUntil('the older processes to be gone', () => migrate(address, newer).catch(() => null)),
      ).toEqual(['3_test'])
    })
  })

  test('refuses a migration that differs from the applied one, and says what to do', async () => {
    await using database = await openTestDatabase()
    await sql`update schema_migration set checksum = 'x' where version = 1`.execute(database.db)
    await expect(migrate(database.address)).rejects.toThrow(
      `Migration 0001_foundation was applied to this database by release ${product.version} with different content. ` +
        'Either this program or the one that applied it is not an unmodified release. Nothing was changed. Run',
    )
  })
})

describe('readMigrations', () => {
  test('returns them in order, each with its own number', async () => {
    const versions = (await readMigrations()).map(({ version }) => version)
    expect(versions).toEqual([...new Set(versions)].toSorted((one, other) => one - other))
    expect(versions[0]).toBe(1)
  })
})

describe('serverVersionProblem', () => {
  test.each(['16.14', '18.4 (Debian 18.4-1)', '20devel'])('accepts PostgreSQL %s', version => {
    expect(serverVersionProblem(version)).toBeNull()
  })

  test.each(['15.8 (Debian 15.8-1)', '9.6.24', ''])('refuses PostgreSQL %s', version => {
    expect(serverVersionProblem(version)).toContain('needs PostgreSQL 16 or newer')
  })
})
