import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError, type Pool } from 'pg'
import product from '../../package.json' with { type: 'json' }
import { type Migration, readMigrations } from './migration-file.ts'
import { explainingExtensions } from './extension-right.ts'
import { runInside, runOutside } from './outside-transaction.ts'
import { clientSettings, type DatabaseAddress } from './pool.ts'
import {
  type AppliedMigration,
  listMissing,
  MigrationRefused,
  readApplied,
  requireFit,
  requireNoneLeftBehind,
} from './schema-fit.ts'
import { limitSession } from './session-limits.ts'
import { withShortLocks } from './short-locks.ts'

/** The oldest PostgreSQL on which the schema is tested. */
const SERVER_VERSION_MIN = 16
const MIGRATION_LOCK = 0x57_41_58_4d
export const LOCK_WAIT_SECONDS = 600
/** Generous, since rewriting or indexing the largest table takes long. */
const STATEMENT_HOURS_MAX = 12
const IDLE_IN_TRANSACTION_SECONDS_MAX = 60
/** How soon the server notices during a statement that the process was killed. Until then nobody else can migrate. */
const CONNECTION_CHECK_SECONDS = 2

/**
 * Migrates a database to the schema of this release and returns the names of the applied migrations. Any number of
 * processes may call it at the same time: one migrates, the others that need the schema wait for it. A process that finds
 * everything that it needs does not wait.
 */
export async function migrate(address: DatabaseAddress, migrations?: Migration[]): Promise<string[]> {
  const ours = migrations ?? (await readMigrations())
  const client = new Client({
    ...clientSettings(address, 'waxwing migrate'),
    query_timeout: STATEMENT_HOURS_MAX * 3_600_000,
  })
  client.on('error', () => {}) // the running query rejects with the same error
  await client.connect()
  try {
    await requireServer(client)
    await limitMigration(client)
    if ((await findMissingOf(client, ours))?.length === 0) return []
    await lockOutOthers(client)
    await ensureTable(client)
    const applied = await readApplied(client)
    requireFit(applied, ours)
    const missing = listMissing(applied, ours)
    await requireNoneLeftBehind(client, missing)
    for (const migration of missing) await apply(client, migration, applied.get(migration.version))
    return missing.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/**
 * The names of the migrations that a database lacks; null if it has no schema yet. Writes nothing. Refuses a schema
 * that does not serve this release.
 */
export async function findMissing(database: Pick<Pool, 'query'>): Promise<string[] | null> {
  return findMissingOf(database, await readMigrations())
}

/** The newest migration of a database that this release lacks; null if it has all. */
export async function findNewer(database: Pick<Pool, 'query'>): Promise<string | null> {
  const known = new Set((await readMigrations()).map(({ version }) => version))
  const newer = [...(await readApplied(database)).values()].filter(({ version }) => !known.has(version))
  return newer.at(-1)?.name ?? null
}

async function findMissingOf(database: Pick<Pool, 'query'>, ours: Migration[]): Promise<string[] | null> {
  const { rows } = await database.query<{ exists: boolean }>(
    `select to_regclass('schema_migration') is not null as exists`,
  )
  if (!rows[0]?.exists) return null
  const applied = await readApplied(database)
  requireFit(applied, ours)
  return listMissing(applied, ours).map(({ name }) => name)
}

/**
 * The role may have been given a shorter time for statements. A statement that a lost process leaves behind must end
 * nevertheless.
 */
async function limitMigration(client: Client) {
  await limitSession(client, {
    statementSeconds: 0,
    idleInTransactionSeconds: IDLE_IN_TRANSACTION_SECONDS_MAX,
  })
  await client
    .query(`set client_connection_check_interval = '${CONNECTION_CHECK_SECONDS}s'`)
    .catch((error: unknown) => {
      // Not every platform of a server can notice during a statement that its client is gone.
      if (!(error instanceof DatabaseError) || error.code !== '22023') throw error
    })
}

async function requireServer(client: Client) {
  const { rows } = await client.query<{ version: string; isStandby: boolean }>(
    `select current_setting('server_version') as version, pg_is_in_recovery() as "isStandby"`,
  )
  const problem = serverVersionProblem(rows[0]?.version ?? '')
  if (problem) throw new MigrationRefused(problem)
  if (rows[0]?.isStandby) {
    throw new MigrationRefused(
      'The database is a standby, or is still recovering, and takes no writes. Point DATABASE_URL to the primary, or ' +
        'promote the standby.',
    )
  }
}

/** Why a server of that version (`15.8 (Debian 15.8-1)`) cannot be used, or null. */
export function serverVersionProblem(version: string): string | null {
  if (Number.parseInt(version, 10) >= SERVER_VERSION_MIN) return null
  return `The database runs PostgreSQL ${version}. Waxwing needs PostgreSQL ${SERVER_VERSION_MIN} or newer.`
}

/** Takes the lock by polling: a session that waits in a query would hold up `create index concurrently` in another. */
export async function lockOutOthers(client: Client) {
  const until = Date.now() + LOCK_WAIT_SECONDS * 1000
  while (Date.now() < until) {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [
      MIGRATION_LOCK,
    ])
    if (rows[0]?.mine === true) return
    await sleep(200)
  }
  throw new MigrationRefused(
    `Another process has been migrating this database for ${LOCK_WAIT_SECONDS / 60} minutes. Start again when it is done.`,
  )
}

async function ensureTable(client: Client) {
  await client.query(`
    create table if not exists schema_migration (
      version integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`)
  const { rows } = await client.query(
    `select from pg_attribute where attrelid = 'schema_migration'::regclass and attname = 'serves'`,
  )
  if (rows.length > 0) return
  await client.query(
    `alter table schema_migration add column serves integer, add column release text,
       add column is_finished boolean not null default true`,
  )
}

/** Applies migrations within the transaction of the session, to a database that nobody else uses. */
export async function applyMigrations(client: Client, migrations: readonly Migration[]): Promise<void> {
  await ensureTable(client)
  for (const migration of migrations) {
    await explainingExtensions(migration.name, () => client.query(migration.sql))
    for (const statement of migration.outside) await runInside(client, statement)
    await noteApplied(client, migration, true)
  }
}

/** @param before what an attempt that was interrupted has left */
async function apply(client: Client, migration: Migration, before: AppliedMigration | undefined) {
  const { version, name, sql, outside } = migration
  if (!before) {
    await withShortLocks(client, () =>
      inTransaction(client, async () => {
        await explainingExtensions(name, () => client.query(sql))
        await noteApplied(client, migration, outside.length === 0)
      }),
    )
  }
  for (const statement of outside) await runOutside(client, statement)
  if (outside.length > 0) {
    await client.query('update schema_migration set is_finished = true where version = $1', [version])
  }
}

async function noteApplied(client: Client, migration: Migration, isFinished: boolean) {
  const { version, name, checksum, serves } = migration
  await client.query(
    `insert into schema_migration (version, name, checksum, serves, release, is_finished)
     values ($1, $2, $3, $4, $5, $6)`,
    [version, name, checksum, serves, product.version, isFinished],
  )
}

async function inTransaction(client: Client, work: () => Promise<void>) {
  await client.query('begin')
  try {
    await work()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
