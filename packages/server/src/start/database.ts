import type { PoolClient } from 'pg'
import type { Config } from '../config.ts'
import { type EmbeddedPostgres, openEmbedded } from '../database/embedded/embedded.ts'
import { keepSession } from '../database/kept-session.ts'
import { type FindFolder, watchForRestore } from '../database/feed-epoch.ts'
import { migrate } from '../database/migrate.ts'
import { type Migration, newestOf, readMigrations } from '../database/migration-file.ts'
import { OutageLog } from '../database/outage-log.ts'
import { type Database, type DatabaseAddress, type Db, openDatabase } from '../database/pool.ts'
import { requireKeptSessions } from '../database/pooler.ts'
import { MigrationRefused, processName, requireStillFit } from '../database/schema-fit.ts'
import { checkKeyRing, hasSealedValues } from '../database/sealed-value.ts'
import { DatabaseUnavailable } from '../database/unavailable.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import { environmentKeyRing } from '../kit/key-ring.ts'
import { fileKeyRing } from '../kit/key-ring-file.ts'
import type { Logger } from '../kit/log.ts'
import { watchStandby } from './watch-standby.ts'

/** The installation's open data: a migrated database, and the key ring that fits it. */
export interface Installation extends AsyncDisposable {
  database: Database
  keyRing: KeyRing
  isEmbedded: boolean
  /** For everything that uses the database: it reports an outage as a whole. */
  log: Logger
  /** Detaches from the embedded server, which then ends by itself: for a process that ends at once. */
  abandon(): Promise<void>
}

export interface InstallationOptions {
  config: Config
  as: 'service' | 'command'
  log: Logger
  connectionsMax?: number
  /** Called when another process has taken over the embedded database, or the schema no longer serves this release. */
  onLost?: (error: unknown) => void
  /** In place of those of this release, for tests. */
  migrations?: Migration[] | undefined
}

/** Opens the database, embedded or external, and migrates it to this release's schema. Its errors have the remedy. */
export async function openInstallation(options: InstallationOptions): Promise<Installation> {
  const { config, as, log } = options
  if (config.databaseUrl) {
    // Before connecting: without a key nothing may be changed.
    const keyRing = openKeyRing(config, { mayCreate: false })
    await using opened = new AsyncDisposableStack()
    const url = config.databaseUrl.reveal()
    const migrations = options.migrations ?? (await readMigrations())
    // The pool closes idle connections. This one stays open, so that a restore and a migration see that a process runs.
    const applicationName = processName(as, newestOf(migrations))
    await opened.use(keepSession({ address: { url }, applicationName, log })).tried
    const { database, restores, outages } = await openMigrated(
      { url },
      { ...options, migrations },
      async () => keyRing,
    )
    opened.use(database)
    opened.use(outages)
    if (as === 'service' && config.databaseFailover === 'synchronous')
      opened.use(watchStandby(() => restores.noteStandby(database.db), outages.log))
    const held = opened.move()
    return {
      database,
      keyRing,
      isEmbedded: false,
      log: outages.log,
      abandon: async () => {},
      [Symbol.asyncDispose]: () => held.disposeAsync(),
    }
  }
  const embedded = await openEmbedded({ dataDir: config.dataDir, as, log, onLost: options.onLost })
  return openOnEmbedded(embedded, options).catch(async (error: unknown) => {
    await embedded[Symbol.asyncDispose]()
    throw error
  })
}

async function openOnEmbedded(
  embedded: EmbeddedPostgres,
  options: InstallationOptions,
): Promise<Installation> {
  const { config } = options
  // Data that is there already can be read with its own key only.
  const lost =
    `${config.dataDir}/secret.key is missing, and the database there is sealed with it. Put the file back from your ` +
    'backup, or its key into WAXWING_SECRET_KEY. Nothing was changed.'
  const findKeyRing = async (db: Db) => openKeyRing(config, { mayCreate: !(await hasSealedValues(db)), lost })
  const { database, keyRing, outages } = await openMigrated(
    embedded.address,
    options,
    findKeyRing,
    embedded.identifyFolder,
  )
  return {
    database,
    keyRing,
    isEmbedded: true,
    log: outages.log,
    abandon: () => embedded.abandon(),
    async [Symbol.asyncDispose]() {
      outages[Symbol.dispose]()
      await database[Symbol.asyncDispose]()
      await embedded[Symbol.asyncDispose]()
    },
  }
}

/** No key is created for an external database: it would lie on this machine only, and be lost with it. */
function openKeyRing({ secretKey, dataDir }: Config, file: { mayCreate: boolean; lost?: string }): KeyRing {
  return secretKey ? environmentKeyRing(secretKey.reveal()) : fileKeyRing(dataDir, file)
}

const COMPLETE = 'The standby had every commit, so messages that wait are sent'
const INCOMPLETE =
  'Messages that were due may have been sent before, so they are held: see "waxwing outbox release --help"'

async function openMigrated(
  address: DatabaseAddress,
  options: InstallationOptions,
  findKeyRing: (db: Db) => Promise<KeyRing>,
  findFolder?: FindFolder,
) {
  const { config, log, as, connectionsMax, onLost } = options
  const migrations = options.migrations ?? (await readMigrations())
  const fit = watchSchema(migrations, onLost)
  const restores = watchForRestore({
    isSynchronous: config.databaseFailover === 'synchronous',
    onRestored: ({ isComplete }) =>
      log.warn(
        'The database was restored, moved or failed over. Event ids go on with larger numbers, and older cursors of the ' +
          `change feed are refused. ${isComplete ? COMPLETE : INCOMPLETE}`,
      ),
    findFolder,
  })
  const outages = new OutageLog({ log, ask: () => database.pool.query('select') })
  const database = openDatabase({
    address,
    applicationName: `waxwing ${as}`,
    connectionsMax,
    onIdleError(broken) {
      const error = new DatabaseUnavailable(broken, false)
      outages.log.warn({ error }, 'A connection to the database broke')
    },
    async onConnect(client) {
      await fit.onConnect(client)
      await restores.onConnect(client)
    },
  })
  try {
    if ('url' in address) await requireKeptSessions(address)
    const keyRing = await findKeyRing(database.db)
    await checkKeyRing(database.db, keyRing)
    const names = await migrate(address, migrations)
    if (names.length > 0) log.info({ names }, 'Brought the database to the schema of this release')
    await restores.begin(database.pool)
    fit.begin()
    // Another process may have migrated further before it could see this one.
    await requireStillFit(database.pool, newestOf(migrations))
    return { database, keyRing, restores, outages }
  } catch (error) {
    outages[Symbol.dispose]()
    await database[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * Looks at each new connection whether the schema still serves this release. A process that was cut off from the database
 * may come back when older releases were left behind.
 */
function watchSchema(migrations: readonly Migration[], onLost?: (error: unknown) => void) {
  const newest = newestOf(migrations)
  let hasBegun = false
  return {
    begin: () => void (hasBegun = true),
    async onConnect(session: Pick<PoolClient, 'query'>) {
      if (!hasBegun) return
      try {
        await requireStillFit(session, newest)
      } catch (error) {
        if (error instanceof MigrationRefused) onLost?.(error)
        throw error
      }
    },
  }
}
