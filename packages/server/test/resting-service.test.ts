import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { migrate } from '../src/database/migrate.ts'
import { type Db, openDatabase } from '../src/database/pool.ts'
import { newId } from '../src/kit/ids.ts'
import { makeTaskDue } from './make-task-due.ts'
import { findFreePort } from './metrics.ts'
import { openTestApp } from './open-app.ts'
import { openTestWings } from './open-wings.ts'
import { startPostgresServer } from './postgres-server.ts'
import { sampleTenant } from './sample-rows.ts'
import { waitUntil } from './wait-until.ts'
import { numberFor } from './soak.ts'

const ACCOUNTS = numberFor({ ci: 120_000, soak: 200_000 })
const TENANTS = ACCOUNTS / 100
/** Pages of 8 KB that a statement may read. 120,000 accounts have 10,000, and the smallest of their indexes 480. */
const PAGES_MAX = 400
/** Tasks that recur this often read no more than the statements of the loops. */
const OFTEN_MINUTES = 10
/**
 * Statements of the slowest loop, every 15 seconds: the spread of the accounts, and a page of the accounts of this
 * process.
 */
const SLOWEST = [/json_object_agg\(id, weight\)/, /^select id, owner_epoch from account\s.* id > \$/s]

interface Statement {
  query: string
  calls: number
  pages: number
}

/** Accounts of a process that lives on, with a mailbox each and its first comparison done. */
async function fill(db: Db): Promise<string> {
  const tenant = await sampleTenant(db)
  const instanceId = newId()
  await db
    .insertInto('instance')
    .values({
      id: instanceId,
      roles: ['sync'],
      heartbeat_until: new Date(),
      accounts: ACCOUNTS,
      weight: ACCOUNTS,
    })
    .execute()
  await sql`
    insert into tenant (id, name, settings)
    select gen_random_uuid(), 'tenant ' || n, settings from tenant, generate_series(1, ${TENANTS}::int) as n
    where tenant.id = ${tenant.id}
  `.execute(db)
  await db.transaction().execute(async transaction => {
    await sql`set local statement_timeout = 0`.execute(transaction)
    // Without the checks of foreign keys and the upkeep of indexes, which take most of the time.
    await sql`set local session_replication_role = replica`.execute(transaction)
    const indexes = await dropIndexes(transaction)
    await sql`
      insert into account (id, tenant_id, provider, email, auth_method, owner_instance)
      select gen_random_uuid(), ids[1 + n % ${TENANTS}::int], 'imap', n || '@a.test', 'password', ${instanceId}
      from (select array_agg(id) as ids from tenant) as tenants, generate_series(1, ${ACCOUNTS}::int) as n
    `.execute(transaction)
    await sql`
      insert into account_half (account_id, tenant_id, kind, owner_instance, runtime_state, runtime_instance,
        initialized_at, verified_at, search_version)
      select id, tenant_id, 'mail', ${instanceId}, 'live', ${instanceId}, now(), now(), 32767 from account
    `.execute(transaction)
    await sql`
      insert into mailbox (id, tenant_id, account_id, provider_key, name, path, role, kind, source)
      select gen_random_uuid(), tenant_id, id, 'INBOX', 'INBOX', 'INBOX', 'inbox', 'folder', 'INBOX' from account
    `.execute(transaction)
    await sql`
      insert into mailbox_comparison (mailbox_id, account_id, due_at, compared_at)
      select id, account_id, now() + interval '1 day', now() from mailbox
    `.execute(transaction)
    await sql`
      insert into sync_cursor (account_id, source, cursor) select account_id, source, '{}' from mailbox
    `.execute(transaction)
    await sql`
      insert into sending_account (account_id, tenant_id) select id, tenant_id from account
    `.execute(transaction)
    for (const { indexdef } of indexes) await sql.raw(indexdef).execute(transaction)
  })
  await sql`analyze`.execute(db)
  return instanceId
}

/** Drops the indexes of accounts and their halves that belong to no constraint. @returns how to create them */
async function dropIndexes(db: Db): Promise<Array<{ indexdef: string }>> {
  const { rows } = await sql<{ indexname: string; indexdef: string }>`
    select indexname, indexdef from pg_indexes
    where tablename in ('account', 'account_half') and indexname not in (select conname from pg_constraint)
  `.execute(db)
  for (const { indexname } of rows) await sql`drop index ${sql.id(indexname)}`.execute(db)
  return rows
}

/** A heartbeat of the process that has the accounts. */
async function keepAlive(db: Db, instanceId: string): Promise<void> {
  const until = sql<Date>`clock_timestamp() + interval '50 seconds'`
  await db.updateTable('instance').set({ heartbeat_until: until }).where('id', '=', instanceId).execute()
}

test('a service at rest reads no more because the installation has more accounts', async () => {
  await using server = await startPostgresServer(undefined, {
    shared_preload_libraries: 'pg_stat_statements',
    max_wal_size: '4GB',
  })
  const address = server.address('postgres')
  await migrate(address)
  await using database = openDatabase({ address, applicationName: 'waxwing test', answerSeconds: 120 })
  const { db, pool } = database
  const owner = await fill(db)
  await sql`create extension pg_stat_statements`.execute(db)
  const list = async () => {
    await keepAlive(db, owner)
    const { rows } = await sql<Statement>`
      select query, calls::float8 as calls, (shared_blks_hit + shared_blks_read)::float8 / calls as pages
      from pg_stat_statements where toplevel order by pages desc
    `.execute(db)
    return rows
  }

  await keepAlive(db, owner)
  const metricsPort = await findFreePort()
  await using app = await openTestApp({ database, roles: ['api', 'sync', 'jobs'], config: { metricsPort } })
  const often = await tasksOften(app)
  // Statements that a process sends only at its start do not count.
  await sql`select pg_stat_statements_reset()`.execute(db)
  // The others are not to become due by the clock during the test.
  await sql`
    update recurring_task set due_at = clock_timestamp() + interval '9 minutes' where not name = any(${often})
  `.execute(db)
  for (const name of often) await makeTaskDue(pool, name)
  await waitUntil('every recurring task', async () => {
    await keepAlive(db, owner)
    const { rows } = await sql<{ left: number }>`
      select count(*)::int as left from recurring_task
      where name = any(${often}) and (due_at <= clock_timestamp() or claimed_by is not null)
    `.execute(db)
    return rows[0]?.left === 0
  })
  const shown = await Promise.all(
    ['/metrics', '/health/ready'].map(async path =>
      (await fetch(`http://127.0.0.1:${metricsPort}${path}`)).text(),
    ),
  )
  expect(shown[0]).toContain(`waxwing_accounts_integrity{state="verified"} ${ACCOUNTS}`)
  const statements = await waitUntil('the slowest loop', async () => {
    const all = await list()
    return SLOWEST.every(asked => all.some(({ query }) => asked.test(query))) && all
  })

  // Statements of this test, and those that read the statistics, do not count.
  const own =
    /pg_stat_statements|pg_notify|as left from recurring_task|update recurring_task set due_at = clock_timestamp|update "instance"/
  // The search for times ahead is hourly. At the start it looks again once transactions have ended, perhaps only now.
  const hourly = /^with moment as materialized/
  const counted = statements.filter(({ query }) => !own.test(query) && !hourly.test(query))
  expect(counted.length).toBeGreaterThan(often.length)
  expect(counted.filter(({ pages }) => pages > PAGES_MAX)).toEqual([])
})

async function tasksOften(app: Parameters<typeof openTestWings>[0]): Promise<string[]> {
  await using wings = await openTestWings(app)
  const tasks = wings.wings.flatMap(wing => wing.recurringTasks?.({ purgeSteps: [], ownedBlobs: [] }) ?? [])
  return tasks.filter(({ schedule }) => schedule.everyMinutes <= OFTEN_MINUTES).map(({ name }) => name)
}
