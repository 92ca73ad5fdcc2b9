import { access } from 'node:fs/promises'
import path from 'node:path'
import type { Config } from '../../config.ts'
import { openEmbedded } from '../../database/embedded/embedded.ts'
import { findMissing, findNewer, serverVersionProblem } from '../../database/migrate.ts'
import { type Database, openDatabase } from '../../database/pool.ts'
import { requireKeptSessions } from '../../database/pooler.ts'
import { openLog } from '../../kit/log.ts'
import { type Finding, ok, warning, wordsOf, wrong } from './finding.ts'

/**
 * Accepted difference between our clock and that of the database. Ownership of accounts and expiry depend on both.
 */
const CLOCK_SECONDS_WARNED = 1
const CLOCK_SECONDS_MAX = 10
/** A correct clock never shows a time before this code was written. */
const EARLIEST = Date.UTC(2026, 0, 1)

/** Whether the embedded database of the data folder was created. */
export async function hasEmbedded(dataDir: string): Promise<boolean> {
  return access(path.join(dataDir, 'postgres', 'password')).then(
    () => true,
    () => false,
  )
}

/**
 * The database of the settings, used while it is open, or started for that time. Creates and migrates nothing.
 */
export async function openForDoctor({ databaseUrl, dataDir }: Config) {
  await using opened = new AsyncDisposableStack()
  const log = openLog({ level: 'silent', format: 'json', destination: process.stderr })
  const address = databaseUrl
    ? { url: databaseUrl.reveal() }
    : opened.use(await openEmbedded({ dataDir, as: 'command', log })).address
  const database = opened.use(openDatabase({ address, applicationName: 'waxwing doctor', connectionsMax: 2 }))
  // If nothing answers, it fails here and not in the first check.
  await database.pool.query('select')
  const owned = opened.move()
  return { database, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Checks version, schema, and what stands before the database. */
export async function checkDatabase(
  { pool, address }: Database,
  { databaseUrl }: Config,
): Promise<Finding[]> {
  const { rows } = await pool.query<{ version: string; isStandby: boolean }>(
    `select current_setting('server_version') as version, pg_is_in_recovery() as "isStandby"`,
  )
  const version = rows[0]?.version ?? ''
  const problem = serverVersionProblem(version)
  const name = databaseUrl ? 'The database of DATABASE_URL' : 'The embedded database'
  if (problem) return [wrong('database', problem, 'Point DATABASE_URL to a newer PostgreSQL.')]
  const isStandby = rows[0]?.isStandby === true
  const answers = isStandby
    ? wrong(
        'database',
        `${name} is a standby, which takes no writes.`,
        'Point DATABASE_URL to the primary, or promote it.',
      )
    : ok('database', `${name} answers: PostgreSQL ${version}.`)
  const pooler = databaseUrl ? await checkPooler(address) : []
  return [answers, await checkSchema(pool), ...(await checkExtension(pool)), ...pooler]
}

/** Whether the extension is there by whose index contacts are found, or can be made. Silent if so. */
async function checkExtension(pool: Database['pool']): Promise<Finding[]> {
  const { rows } = await pool.query<{
    has: boolean
    isAvailable: boolean
    mayCreate: boolean
    isLost: boolean
  }>(`
    select exists (select from pg_extension where extname = 'pg_trgm') as has,
      exists (select from pg_available_extensions where name = 'pg_trgm') as "isAvailable",
      has_database_privilege(current_database(), 'create') as "mayCreate",
      to_regclass('contact') is not null as "isLost"`)
  const [found] = rows
  if (!found || found.has) return []
  if (!found.isAvailable)
    return [
      wrong(
        'database',
        'The server lacks the extension pg_trgm, by which contacts are found.',
        'Install the contrib modules of PostgreSQL there, as with: apt-get install postgresql-contrib',
      ),
    ]
  if (found.mayCreate && !found.isLost) return []
  return [
    wrong(
      'database',
      'The database lacks the extension pg_trgm, by which contacts are found' +
        (found.isLost ? '.' : ', and its user may not create it.'),
      'Let an administrator of the database run: create extension pg_trgm',
    ),
  ]
}

async function checkPooler(address: Database['address']): Promise<Finding[]> {
  return requireKeptSessions(address).then(
    () => [],
    (error: unknown) => [wrong('database', wordsOf(error))],
  )
}

async function checkSchema(pool: Database['pool']): Promise<Finding> {
  try {
    const missing = await findMissing(pool)
    if (missing === null) return ok('database', 'It is empty: the first start creates the schema.')
    if (missing.length === 0) {
      const newer = await findNewer(pool)
      if (newer === null) return ok('database', 'It has the schema of this release.')
      return ok('database', `It has the schema of a newer release (${newer}), which serves this one as well.`)
    }
    return warning(
      'database',
      `It lacks ${missing.length} changes of this release: ${missing.join(', ')}.`,
      'The next start makes them, or run: npx waxwing migrate',
    )
  } catch (error) {
    return wrong('database', wordsOf(error))
  }
}

/** Compares our clock with that of the database, or with the calendar if there is no database. */
export async function checkClock(database: Database | null): Promise<Finding> {
  const remedy = 'Let the machines keep their time by NTP: timedatectl set-ntp true'
  if (Date.now() < EARLIEST) return wrong('clock', `It is ${new Date().toISOString()} here.`, remedy)
  if (!database) return ok('clock', `${new Date().toISOString()}, not compared with another clock.`)
  const startedAt = Date.now()
  const { rows } = await database.pool.query<{ now: Date }>('select clock_timestamp() as now')
  const middle = (startedAt + Date.now()) / 2
  const seconds = Math.abs((rows[0]?.now.getTime() ?? middle) - middle) / 1000
  const difference = `The clock of the database is ${seconds.toFixed(1)} seconds off that of this machine.`
  if (seconds > CLOCK_SECONDS_MAX) return wrong('clock', difference, remedy)
  if (seconds > CLOCK_SECONDS_WARNED) return warning('clock', difference, remedy)
  return ok('clock', 'This machine and the database agree on the time.')
}
