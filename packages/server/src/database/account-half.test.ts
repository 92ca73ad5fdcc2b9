/** @module-tag postgres-16-in-soak */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { readStates, readStatesAsMade } from '../../test/upgrade/fixture/follow-states.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { migrate } from './migrate.ts'
import { readMigrations } from './migration-file.ts'
import { clientSettings, type Db } from './pool.ts'
import { MigrationRefused, processName } from './schema-fit.ts'

const ACCOUNTS = 10_000

/** A database before the migration, with accounts of every status and state. */
async function openUnmigrated(accounts: number) {
  const database = await openTestDatabase({ migrated: false })
  const all = await readMigrations()
  await migrate(
    database.address,
    all.filter(({ version }) => version < 59),
  )
  await sql`
    with tenants as (insert into tenant (id, name, settings) values (gen_random_uuid(), 'a', '{}') returning id),
    instances as (
      insert into instance (id, heartbeat_until) values (gen_random_uuid(), now() + interval '1 day') returning id
    )
    insert into account (id, tenant_id, provider, email, auth_method, status, status_reason, deleted_at, owner_instance,
      owner_epoch, initialized_at, sync_wanted, runtime_state, runtime_detail, runtime_instance, runtime_updated_at,
      behind_since, failing_since, closed_since, differs_since, verified_at, look, search_version)
    select gen_random_uuid(), tenants.id, 'imap', n || '@a.test', 'password',
      (array['active', 'paused', 'reauth_required', 'disabled'])[1 + n % 4],
      case n % 3 when 0 then null else 'reason ' || n end, case when n % 7 = 0 then now() end,
      case when n % 5 > 0 then instances.id end, n, case when n % 2 = 0 then now() - interval '1 day' end,
      case n % 6 when 0 then array['mail', 'restart'] else '{}' end, case when n % 9 > 0 then 'live' end, 'detail ' || n,
      instances.id, now(), case when n % 11 = 0 then now() end, case when n % 13 = 0 then now() end,
      case when n % 17 = 0 then now() end, case when n % 19 = 0 then now() end, case when n % 4 = 0 then now() end, n,
      n % 5
    from tenants, instances, generate_series(1, ${accounts}::int) as n
  `.execute(database.db)
  return { ...database, migrate: () => migrate(database.address) }
}

const readReasons = async (db: Db) =>
  (
    await sql<{ status: string; reason: string | null }>`
      select status, status_reason as reason from account order by id
    `.execute(db)
  ).rows

/** Whether the migration has done all that it does, or nothing. */
async function isWhole(db: Db): Promise<boolean> {
  const { rows } = await sql<{ hasHalves: boolean; hasColumns: boolean; isApplied: boolean }>`
    select to_regclass('account_half') is not null as "hasHalves",
      exists (select from schema_migration where version = 59) as "isApplied",
      exists (
        select from pg_attribute
        where attrelid = 'account'::regclass and attname = 'sync_wanted' and not attisdropped
      ) as "hasColumns"
  `.execute(db)
  const { hasHalves, hasColumns, isApplied } = rows[0]!
  expect([hasHalves, isApplied]).toEqual([!hasColumns, !hasColumns])
  return isApplied
}

describe('the migration to halves', () => {
  test('keeps the state of 10,000 accounts', async () => {
    await using database = await openUnmigrated(ACCOUNTS)
    const { db } = database
    const [states, reasons] = [await readStatesAsMade(db), await readReasons(db)]
    await database.migrate()

    expect(await readStates(db)).toEqual(states)
    const { rows } = await sql<{ status: string; reason: string | null; problem: string | null }>`
      select status, status_reason as reason, problem from account join account_half on account_id = id order by id
    `.execute(db)
    expect(rows).toEqual(
      reasons.map(({ status, reason }) =>
        status === 'active' ? { status, reason: null, problem: reason } : { status, reason, problem: null },
      ),
    )
    const { rows: owners } = await sql`
      select from account join account_half on account_id = id
      where account_half.owner_instance is distinct from
        case when status = 'active' and deleted_at is null then account.owner_instance end
    `.execute(db)
    expect(owners).toEqual([])
  })

  test('is refused while a process of an older release is connected, and changes nothing', async () => {
    await using database = await openUnmigrated(10)
    const older = new Client(clientSettings(database.address, processName('service', 58)))
    await older.connect()
    await expect(database.migrate()).rejects.toThrow(MigrationRefused)
    expect(await isWhole(database.db)).toBe(false)
    await older.end()
    await waitUntil('the process to be gone', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and application_name ~ 'schema 0058'
      `.execute(database.db)
      return rows.length === 0
    })
    await database.migrate()
    expect(await isWhole(database.db)).toBe(true)
  })

  test('is not done at all if the disk is full at its end', async () => {
    await using database = await openUnmigrated(10)
    const { db } = database
    const states = await readStatesAsMade(db)
    await sql`
      create function fill_disk() returns event_trigger language plpgsql as $$
      begin
        raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
      end $$
    `.execute(db)
    await sql`
      create event trigger full_disk on ddl_command_end when tag in ('CREATE INDEX') execute function fill_disk()
    `.execute(db)
    await expect(database.migrate()).rejects.toThrow('No space left on device')
    expect(await isWhole(db)).toBe(false)

    await sql`drop event trigger full_disk`.execute(db)
    await database.migrate()
    expect(await isWhole(db)).toBe(true)
    expect(await readStates(db)).toEqual(states)
  })

  test('is whole or not done at all if it is killed at any moment', async () => {
    await using database = await openUnmigrated(ACCOUNTS)
    const { db } = database
    const states = await readStatesAsMade(db)
    let undone = 0
    for (const milliseconds of [0, 30, 60, 120, 240]) {
      let hasEnded = false
      const migrating = database
        .migrate()
        .catch((error: unknown) => error)
        .finally(() => (hasEnded = true))
      await waitUntil('the migration to write', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and application_name = 'waxwing migrate'
            and backend_xid is not null
        `.execute(db)
        return rows.length > 0 || hasEnded
      })
      await sleep(milliseconds)
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'waxwing migrate'
      `.execute(db)
      await migrating
      if (await isWhole(db)) break
      undone += 1
    }
    expect(undone).toBeGreaterThan(0)
    if (!(await isWhole(db))) await database.migrate()
    expect(await isWhole(db)).toBe(true)
    expect(await readStates(db)).toEqual(states)
  })
})
