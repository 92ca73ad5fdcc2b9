import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connectWhenReady, createCluster, spawnServer, SUPERUSER } from '../src/database/cluster.ts'
import type { DatabaseAddress } from '../src/database/pool.ts'
import { findBinaries, reachableBinaries } from '../src/database/postgres-binaries.ts'
import { postgresUser } from '../src/database/system-user.ts'

/** A PostgreSQL for tests and scripts: fast, on a unix socket in a temporary folder, gone when disposed. */
export interface PostgresServer extends AsyncDisposable {
  socketFolder: string
  password: string
  address(database: string): DatabaseAddress
  /** Stops the server, which ends every connection, and starts it again. */
  restart(): Promise<void>
  /** As after a recovery to a point in time, or the promotion of a standby: the server begins another timeline. */
  restartOnNewTimeline(): Promise<void>
}

const START_SECONDS = 60
/** Nothing here outlives the run, so nothing has to reach the disk. */
const UNSAFE_AND_FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '128MB',
  autovacuum_naptime: '10s',
}

/** Starts one. `version` 16 takes the older release that is still supported. */
export async function startPostgresServer(version?: '16'): Promise<PostgresServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-test-'))
  const user = await postgresUser()
  if (user) {
    await chown(folder, user.uid, user.gid)
    await chmod(folder, 0o700)
  }
  const packageName = version === '16' ? `postgres16-${process.platform}-${process.arch}` : undefined
  const found = await findBinaries(packageName)
  const binaries = await reachableBinaries(found, user, path.join(folder, 'binaries'), () => {})
  const folders = { data: path.join(folder, 'data'), socket: folder, log: path.join(folder, 'log') }
  // The builtin locale provider is newer than 16.
  const locale = version === '16' ? ['--locale=C.UTF-8'] : undefined
  const password = await createCluster(binaries, folders.data, user, locale)
  const address = (database: string) => ({ socketFolder: folder, user: SUPERUSER, password, database })
  let child = await start()

  async function start(settings: Record<string, string> = {}) {
    const started = await spawnServer(binaries, folders, user, { ...UNSAFE_AND_FAST, ...settings })
    const client = await connectWhenReady(
      address('postgres'),
      'waxwing test',
      START_SECONDS,
      () => started.exitCode !== null,
    )
    if (!client) throw new Error(`PostgreSQL did not start, see ${folders.log}`)
    await client.end()
    return started
  }
  /** Immediate shutdown by default: mostly there is nothing to keep. */
  async function stop(signal: 'SIGQUIT' | 'SIGINT' = 'SIGQUIT') {
    const ended = new Promise(resolve => child.once('exit', resolve))
    child.ref()
    if (child.exitCode === null && child.kill(signal)) await ended
  }
  return {
    socketFolder: folder,
    password,
    address,
    async restart() {
      await stop('SIGINT')
      child = await start()
    },
    async restartOnNewTimeline() {
      await stop('SIGINT')
      await writeFile(path.join(folders.data, 'recovery.signal'), '', { mode: 0o644 })
      child = await start({ restore_command: 'false' })
    },
    async [Symbol.asyncDispose]() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
