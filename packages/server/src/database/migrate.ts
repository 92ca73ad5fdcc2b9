import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { clientSettings, type DatabaseAddress } from './pool.ts'

/** A connection, or a pool of them. */
type Queryable = Pick<Client, 'query'>

export interface Migration {
  version: number
  name: string
  checksum: string
  sql: string
}

/** The oldest PostgreSQL on which the schema is tested. */
const SERVER_VERSION_MIN = 16
const MIGRATION_LOCK = 0x57_41_58_4d
export const LOCK_WAIT_SECONDS = 600
/** Generous, since rewriting or indexing the largest table takes long. */
const STATEMENT_HOURS_MAX = 12
/** A migration that waits for a lock blocks everything behind it, so it gives up quickly and retries. */
const LOCK_TIMEOUT_SECONDS = 2
const ATTEMPTS_MAX = 30
const FOLDER = new URL('./migrations/', import.meta.url)

/** Thrown with an explanation if a database cannot be used as it is. */
export class MigrationRefused extends Error {}

/** The migrations of this release, in order. A file is named `0001_what_it_does.sql`. */
export async function readMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async name => {
      const sql = await readFile(new URL(name, folder), 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { version: Number.parseInt(name, 10), name: name.replace(/\.sql$/, ''), checksum, sql }
    }),
  )
}

/**
 * Migrates a database to the schema of this release and returns the names of the applied migrations. Any number of
 * processes may call it at the same time: one migrates, the others wait for it.
 */
export async function migrate(address: DatabaseAddress, migrations?: Migration[]): Promise<string[]> {
  const wanted = migrations ?? (await readMigrations())
  const client = new Client({
    ...clientSettings(address, 'waxwing migrate'),
    query_timeout: STATEMENT_HOURS_MAX * 3_600_000,
  })
  client.on('error', () => {}) // the running query rejects with the same error
  await client.connect()
  try {
    await requireServerVersion(client)
    await lockOutOthers(client)
    await ensureTable(client)
    const applied = await readApplied(client)
    requireKnown(applied, wanted)
    const missing = wanted.filter(({ version }) => !applied.has(version))
    for (const migration of missing) await applyWithRetries(client, migration)
    return missing.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/**
 * The names of the migrations that a database lacks; null if it has no schema yet. Writes nothing. Refuses a schema
 * that does not fit this release.
 */
export async function findMissing(database: Queryable): Promise<string[] | null> {
  const { rows } = await database.query<{ exists: boolean }>(
    `select to_regclass('schema_migration') is not null as exists`,
  )
  if (!rows[0]?.exists) return null
  const wanted = await readMigrations()
  const applied = await readApplied(database)
  requireKnown(applied, wanted)
  return wanted.filter(({ version }) => !applied.has(version)).map(({ name }) => name)
}

async function requireServerVersion(client: Client) {
  const { rows } = await client.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  )
  const problem = serverVersionProblem(rows[0]?.version ?? '')
  if (problem) throw new MigrationRefused(problem)
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
}

async function readApplied(database: Queryable) {
  const { rows } = await database.query<{ version: number; name: string; checksum: string }>(
    'select version, name, checksum from schema_migration order by version',
  )
  return new Map(rows.map(row => [row.version, row]))
}

function requireKnown(applied: Map<number, { name: string; checksum: string }>, wanted: Migration[]) {
  const known = new Map(wanted.map(migration => [migration.version, migration]))
  for (const [version, { name, checksum }] of applied) {
    const migration = known.get(version)
    if (!migration) {
      throw new MigrationRefused(
        `The database has migration ${name}, which this release of Waxwing does not know: it was used by a newer ` +
          'release. Run that release, or a newer one.',
      )
    }
    if (migration.checksum !== checksum) {
      throw new MigrationRefused(
        `Migration ${migration.name} differs from the one that was applied to this database (its checksum differs). ` +
          'Use an unmodified release, or a new database.',
      )
    }
  }
}

async function applyWithRetries(client: Client, migration: Migration) {
  for (let attempt = 1; ; attempt++) {
    try {
      await apply(client, migration)
      return
    } catch (error) {
      const isLockTimeout = error instanceof DatabaseError && error.code === '55P03'
      if (!isLockTimeout || attempt >= ATTEMPTS_MAX) throw error
      await sleep(500)
    }
  }
}

/** Applies migrations within the transaction of the session. */
export async function applyMigrations(client: Client, migrations: readonly Migration[]): Promise<void> {
  await ensureTable(client)
  for (const { version, name, checksum, sql } of migrations) {
    await client.query(sql)
    await client.query('insert into schema_migration (version, name, checksum) values ($1, $2, $3)', [
      version,
      name,
      checksum,
    ])
  }
}

async function apply(client: Client, migration: Migration) {
  await client.query('begin')
  try {
    await client.query(`set local lock_timeout = '${LOCK_TIMEOUT_SECONDS}s'`)
    await applyMigrations(client, [migration])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
