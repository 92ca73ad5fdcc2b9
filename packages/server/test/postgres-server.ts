import type { ChildProcess } from 'node:child_process'
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connectWhenReady, createCluster, spawnServer, SUPERUSER } from '../src/database/embedded/cluster.ts'
import type { DatabaseAddress } from '../src/database/pool.ts'
import { findBinaries, reachableBinaries } from '../src/database/embedded/postgres-binaries.ts'
import { postgresUser } from '../src/database/embedded/system-user.ts'

/** A PostgreSQL for tests and scripts: fast, on a unix socket in a temporary folder, gone when disposed. */
export interface PostgresServer extends AsyncDisposable {
  socketFolder: string
  password: string
  address(database: string): DatabaseAddress
  /** Simulates a recovery to a point in time, or the promotion of a standby: the server begins another timeline. */
  restartOnNewTimeline(): Promise<void>
  /** Ends the server and its connections at once. Its data stays on disk, and `start` starts it again. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Suspends every process of the server: connections stay open, and nothing answers until `thaw`. */
  freeze(): Promise<void>
  thaw(): Promise<void>
}

const START_SECONDS = 60
/** Nothing outlives the run, so nothing has to reach the disk. */
const UNSAFE_AND_FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '128MB',
  autovacuum_naptime: '10s',
}

/** Starts one. `version` 16 selects the oldest supported release. */
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
  // PostgreSQL 16 does not have the builtin locale provider yet.
  const locale = version === '16' ? ['--locale=C.UTF-8'] : undefined
  const password = await createCluster(binaries, folders.data, user, locale)
  const address = (database: string) => ({ socketFolder: folder, user: SUPERUSER, password, database })

  async function start(settings: Record<string, string> = {}) {
    const started = await spawnServer(binaries, folders, user, { ...UNSAFE_AND_FAST, ...settings })
    const hasEnded = () => started.exitCode !== null
    const client = await connectWhenReady(address('postgres'), 'waxwing test', START_SECONDS, hasEnded)
    if (!client) throw new Error(`PostgreSQL did not start, see ${folders.log}`)
    await client.end()
    return started
  }
  let child = await start()
  return {
    socketFolder: folder,
    password,
    address,
    async restartOnNewTimeline() {
      await end(child, 'SIGINT')
      await writeFile(path.join(folders.data, 'recovery.signal'), '', { mode: 0o644 })
      child = await start({ restore_command: 'false' })
    },
    stop: () => end(child, 'SIGINT'),
    async start() {
      child = await start()
    },
    freeze: () => signalAll(child, 'SIGSTOP'),
    thaw: () => signalAll(child, 'SIGCONT'),
    async [Symbol.asyncDispose]() {
      await signalAll(child, 'SIGCONT')
      // There is nothing to keep.
      await end(child, 'SIGQUIT')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals) {
  if (child.exitCode !== null) return
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.ref()
  if (child.kill(signal)) await ended
}

/** Signals the postmaster first, so that it starts no process that would be missed. */
async function signalAll(child: ChildProcess, signal: NodeJS.Signals) {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null) return
  process.kill(pid, signal)
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  for (const each of children.split(' ').filter(Boolean)) {
    try {
      process.kill(Number(each), signal)
    } catch {
      // It ended meanwhile.
    }
  }
}
