import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { describeDiskTrouble, diskTroubleIn, diskTroubleOf, findDiskTrouble } from '../../kit/disk-room.ts'
import type { Logger } from '../../kit/log.ts'
import { connectWhenReady, serverPid, spawnServer, SUPERUSER, tryConnect } from './cluster.ts'
import {
  type LocalCluster,
  prepareCluster,
  prepareDataFolder,
  removeRemains,
  rotateLog,
} from './data-folder.ts'
import { findOwner, joinUsers, tryBeLast, tryLockOutUsers, tryOwn } from './embedded-lock.ts'
import { ensureDatabase } from './ensure-database.ts'
import { type FolderIdentity, identifyFolder } from './folder-identity.ts'
import type { DatabaseAddress } from '../pool.ts'
import {
  findBinaries,
  type PostgresBinaries,
  PostgresUnavailable,
  reachableBinaries,
} from './postgres-binaries.ts'
import { removeForeignLocks } from './running-server.ts'
import { SERVICE_ROLE, servicePassword } from './service-role.ts'
import { postgresUser, type SystemUser } from './system-user.ts'

/** Thrown if another service uses the data folder. */
export class DataFolderInUse extends Error {
  override name = 'DataFolderInUse'
}

export interface EmbeddedOptions {
  dataDir: string
  /** A service owns the server, and starts it again when it dies. A command joins it for a short time. */
  as: 'service' | 'command'
  log: Logger
  /** Called when the server could not be kept running: the service must end. */
  onLost?: (error: unknown) => void
}

/**
 * The running embedded PostgreSQL of a data folder. Disposing it stops the server, unless another process still uses
 * it.
 */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** The service's database, for the role that owns it. */
  address: DatabaseAddress
  identifyFolder(): Promise<FolderIdentity>
  /** Asks the server to stop, without waiting for it. */
  abandon(): Promise<void>
}

interface Server {
  options: EmbeddedOptions
  cluster: LocalCluster
  binaries: PostgresBinaries
  user: SystemUser | null
  /** Identifies this process to others that read the locks. */
  applicationName: string
}

const DATABASE = 'waxwing'
const START_SECONDS = 60
const OWNER_GONE_SECONDS = 2
const COMMAND_DONE_SECONDS = 60
const FAST_STOP_SECONDS = 15
const RESTART_PAUSE_SECONDS_MAX = 5
/** Seconds between two lines about a server that does not start. */
const REPORT_SECONDS = 60
/**
 * Temporary reasons for a failed start: another process is starting the server, or child processes of the last one are
 * still ending.
 */
const PASSING = /lock file|shared memory block/

const SERVER_SETTINGS = {
  max_connections: '120',
  // Leaves out the values of rows, which are in DETAIL.
  log_error_verbosity: 'terse',
  // Statements here take milliseconds; compiling one would take longer than it saves.
  jit: 'off',
  // A first sync fills tables within seconds; checkpoints during that time would only write pages twice.
  autovacuum_naptime: '15s',
  max_wal_size: '2GB',
}

/**
 * Starts the embedded server of a data folder, or takes over one that still runs. Its errors have the reason of a refusal.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  return openCluster(options).catch(async (error: unknown) => {
    throw (await explainNoRoom(options.dataDir, error)) ?? error
  })
}

/** An error that explains what to do, if the server cannot be created or started because its disk is full. */
async function explainNoRoom(dataDir: string, error: unknown): Promise<PostgresUnavailable | null> {
  if (!(error instanceof Error) || error instanceof DataFolderInUse) return null
  const trouble = diskTroubleOf(error) ?? diskTroubleIn(error.message) ?? (await findDiskTrouble(dataDir))
  if (!trouble) return null
  return new PostgresUnavailable(describeDiskTrouble(`the data folder ${dataDir}`, trouble), { cause: error })
}

async function openCluster(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const user = await postgresUser()
  const dataFolder = await prepareDataFolder(options.dataDir, user)
  const binaries = await reachableBinaries(await findBinaries(), user, dataFolder, target =>
    options.log.info(
      { folder: target },
      'Copying PostgreSQL into the data folder, since the user "nobody" cannot reach it where it is',
    ),
  )
  const cluster = await prepareCluster(dataFolder, binaries, user)
  const applicationName = `waxwing ${options.as}, process ${process.pid}`
  const server: Server = { options, cluster, binaries, user, applicationName }

  const control = await takeHold(server)
  try {
    if (options.as === 'service') await removeRemains(dataFolder, cluster)
    await ensureDatabase(control, addressOf(cluster, DATABASE))
  } catch (error) {
    // The held connection would keep this process alive. The next start takes over the server.
    await control.end().catch(() => {})
    throw error
  }
  const { password } = cluster
  const address = { ...addressOf(cluster, DATABASE), user: SERVICE_ROLE, password: servicePassword(password) }
  return options.as === 'service' ? supervise(server, control, address) : join(server, control, address)
}

/** Opens a held connection that makes us the owner (service) or a user (command) of a running server. */
async function takeHold(server: Server): Promise<Client> {
  const startedAt = Date.now()
  for (;;) {
    const control = await reachServer(server)
    try {
      if (server.options.as === 'command') {
        await joinUsers(control)
        return control
      }
      if (await tryOwn(control)) return control
      refuseOwned(server, await findOwner(control), Date.now() - startedAt)
    } catch (error) {
      await control.end().catch(() => {})
      // The server stopped in the meantime: a command that was its last user stopped it.
      if (error instanceof DataFolderInUse || Date.now() - startedAt > START_SECONDS * 1000) throw error
    }
    await control.end().catch(() => {})
    await sleep(50)
  }
}

/** Waits a little before refusing: the owner may be about to end, because it was just killed or is a short command. */
function refuseOwned({ options }: Server, owner: string | null, waitedMilliseconds: number) {
  const isCommand = owner?.startsWith('waxwing command') === true
  const patience = isCommand ? COMMAND_DONE_SECONDS : OWNER_GONE_SECONDS
  if (owner === null || waitedMilliseconds < patience * 1000) return
  throw new DataFolderInUse(
    `The data folder ${options.dataDir} is in use by another ${owner.replace('waxwing', 'Waxwing')}. ` +
      'Stop that one first, or give this one a folder of its own with WAXWING_DATA_DIR.',
  )
}

/** Connects to the server, and starts it if it does not run. */
async function reachServer(server: Server): Promise<Client> {
  const { cluster, options } = server
  const address = addressOf(cluster, 'postgres')
  const until = Date.now() + START_SECONDS * 1000
  for (;;) {
    const running = await tryConnect(address, server.applicationName)
    if (running) return running
    const child = await startServer(server)
    const started = await connectWhenReady(address, server.applicationName, START_SECONDS, () =>
      hasEnded(child),
    )
    if (started) return started
    const complaint = await lastLines(cluster.folders.log)
    const isPassing =
      (PASSING.test(complaint) || endsWithAnother(complaint, child)) && !diskTroubleIn(complaint)
    if (Date.now() > until || !isPassing || (await findDiskTrouble(options.dataDir))) {
      throw new PostgresUnavailable(
        `The embedded PostgreSQL in ${options.dataDir} does not start. Its log (${cluster.folders.log}) ends with:\n${complaint}`,
      )
    }
    await sleep(100)
  }
}

async function startServer({ cluster, binaries, user }: Server) {
  // If `npm ci` ran in the meantime, the links to its libraries have to be created again.
  await findBinaries()
  await rotateLog(cluster.folders.log)
  await removeForeignLocks(cluster.folders)
  return spawnServer(binaries, cluster.folders, user, SERVER_SETTINGS)
}

/** Holds the server for a service, and starts it again whenever it ends. */
function supervise(server: Server, first: Client, address: DatabaseAddress): EmbeddedPostgres {
  const { log, onLost } = server.options
  const stop = new AbortController()
  let control: Client | null = first
  let recovery: Promise<void> = Promise.resolve()

  function watch(client: Client) {
    client.once('end', () => {
      control = null
      if (!stop.signal.aborted) recovery = recover()
    })
  }

  async function recover() {
    log.warn('The embedded PostgreSQL ended unexpectedly; starting it again')
    let reportedAt = -Infinity
    for (let pause = 1; !stop.signal.aborted; pause = Math.min(pause * 2, RESTART_PAUSE_SECONDS_MAX)) {
      try {
        control = await takeHold(server)
        watch(control)
        log.info('The embedded PostgreSQL is running again')
        return
      } catch (error) {
        if (error instanceof DataFolderInUse) return void onLost?.(error)
        if (performance.now() - reportedAt >= REPORT_SECONDS * 1000) {
          log.error({ error, delaySeconds: pause }, 'The embedded PostgreSQL does not start; retrying')
          reportedAt = performance.now()
        }
        await sleep(pause * 1000, undefined, { signal: stop.signal }).catch(() => {})
      }
    }
  }

  watch(first)
  return {
    address,
    identifyFolder: () => identifyFolder(server.cluster.folders.data),
    abandon: () => signalServer(server, 'SIGINT'),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await recovery
      // A broken control connection cannot be asked; the server is then stopped anyway.
      if (control && !(await tryLockOutUsers(control).catch(() => true))) {
        log.info('A waxwing command still uses the embedded PostgreSQL and will stop it when done')
        await control.end()
        return
      }
      await stopServer(server, control)
    },
  }
}

/** Uses the server for a command while it runs, and stops it if no other process needs it. */
function join(server: Server, control: Client, address: DatabaseAddress): EmbeddedPostgres {
  return {
    address,
    identifyFolder: () => identifyFolder(server.cluster.folders.data),
    abandon: async () => {},
    async [Symbol.asyncDispose]() {
      const isLast = await tryBeLast(control).catch(() => false)
      if (isLast) await stopServer(server, control)
      else await control.end().catch(() => {})
    },
  }
}

/** Fast shutdown: open transactions are rolled back; everything committed is on disk. */
async function stopServer(server: Server, control: Client | null) {
  const pid = await serverPid(server.cluster.folders.data)
  await signalServer(server, 'SIGINT')
  await control?.end().catch(() => {})
  if (pid === null || (await isGone(pid, FAST_STOP_SECONDS))) return
  server.options.log.warn('The embedded PostgreSQL does not stop; it will recover at the next start')
  await signalServer(server, 'SIGQUIT')
  await isGone(pid, FAST_STOP_SECONDS)
}

async function signalServer({ cluster }: Server, signal: 'SIGINT' | 'SIGQUIT') {
  await removeForeignLocks(cluster.folders)
  const pid = await serverPid(cluster.folders.data)
  if (pid === null) return
  try {
    process.kill(pid, signal)
  } catch {
    // The process ended by itself.
  }
}

async function isGone(pid: number, seconds: number) {
  const until = Date.now() + seconds * 1000
  while (Date.now() < until) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await sleep(20)
  }
  return false
}

/** The address for the superuser, who holds and prepares the server. */
function addressOf({ folders, password }: LocalCluster, database: string) {
  return { socketFolder: folders.socket, user: SUPERUSER, password, database }
}

function hasEnded(child: ChildProcess) {
  return child.exitCode !== null || child.signalCode !== null
}

/**
 * Whether a log ends with a line of another server: another process has started its own at the same time, and writes to
 * the same log.
 */
function endsWithAnother(lines: string, { pid }: ChildProcess): boolean {
  const [, writer] = /\[(\d+)\][^\n]*$/.exec(lines) ?? []
  return writer !== undefined && Number(writer) !== pid
}

async function lastLines(log: string) {
  const text = await readFile(path.resolve(log), 'utf8').catch(() => '')
  return text.trimEnd().split('\n').slice(-5).join('\n')
}
