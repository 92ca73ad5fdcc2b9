import { AsyncResource } from 'node:async_hooks'
import { type ChildProcess, execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { connectWhenReady, createCluster, spawnServer, SUPERUSER } from '../src/database/embedded/cluster.ts'
import { clientSettings, type DatabaseAddress } from '../src/database/pool.ts'
import { findBinaries, reachableBinaries } from '../src/database/embedded/postgres-binaries.ts'
import { postgresUser, type SystemUser } from '../src/database/embedded/system-user.ts'
import { guardFolder, guardProcess } from './guard/guard.ts'
import { chooseMemoryFolder } from './memory-folder.ts'
import { waitUntil } from './wait-until.ts'

/** A PostgreSQL for tests and scripts: fast, on a unix socket in a temporary folder, gone when disposed. */
export interface PostgresServer extends AsyncDisposable {
  socketFolder: string
  password: string
  address(database: string): DatabaseAddress
  /** The same as a URL, as an operator writes it. */
  url(database: string): string
  /** Copies the data of the running server, as an operator does without further tools. */
  takeBaseBackup(): Promise<BaseBackup>
  /** Simulates a recovery to a point in time, or the promotion of a standby: the server begins another timeline. */
  restartOnNewTimeline(): Promise<void>
  /**
   * Ends the server and its connections at once, `immediate` without a checkpoint. Its data stays on disk, and `start`
   * starts it again.
   */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** Kills every process of the server. Started again, it recovers from its log. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Suspends every process of the server: connections stay open, and nothing answers until `thaw`. */
  freeze(): Promise<void>
  thaw(): Promise<void>
}

/** A copy of the data of a running server, from which other servers can be started. Disposing it removes it. */
export interface BaseBackup extends AsyncDisposable {
  folder: string
  password: string
}

/** Backup from which a server is started, in place of a new cluster. */
export interface Origin {
  backup: BaseBackup
  /** It follows a primary, or recovers to a point in time. */
  as: 'standby' | 'recovery'
}

const START_SECONDS = 60
/** Nothing outlives the run, so nothing has to reach the disk. */
const UNSAFE_AND_FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '128MB',
  max_wal_size: '256MB',
  autovacuum_naptime: '10s',
}

/** Starts one. `version` 16 selects the oldest supported release. `settings` replace those that make it fast. */
export async function startPostgresServer(
  version?: '16',
  settings: Readonly<Record<string, string>> = {},
  origin?: Origin,
): Promise<PostgresServer> {
  const folder = await mkdtemp(path.join(await chooseParent(settings), `waxwing-test-${process.pid}-`))
  const release = guardFolder(folder)
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
  const password = origin
    ? await useBackup(origin, folders.data, user)
    : await createCluster(binaries, folders.data, user, locale)
  const address = (database: string) => ({ socketFolder: folder, user: SUPERUSER, password, database })

  // Bound, so that a process that a test starts again is still of the test, or the file, that opened the server.
  const start = AsyncResource.bind(async (more: Readonly<Record<string, string>> = {}) => {
    const started = await spawnServer(binaries, folders, user, { ...UNSAFE_AND_FAST, ...settings, ...more })
    // Not only by its folder: other runs remove the folders of a run that has ended.
    guardProcess(started, 'SIGQUIT')
    const hasEnded = () => started.exitCode !== null
    const client = await connectWhenReady(address('postgres'), 'waxwing test', START_SECONDS, hasEnded)
    if (!client) throw new Error(`PostgreSQL did not start, see ${folders.log}`)
    await client.end()
    return started
  })
  let child = await start()
  return {
    socketFolder: folder,
    password,
    address,
    url: database =>
      `postgres://${SUPERUSER}:${password}@localhost/${database}?host=${encodeURIComponent(folder)}`,
    takeBaseBackup: () => takeBaseBackup(address('postgres'), folders.data, user),
    async restartOnNewTimeline() {
      await end(child, 'SIGINT')
      await writeFile(path.join(folders.data, 'recovery.signal'), '', { mode: 0o644 })
      child = await start({ restore_command: 'false' })
      // It lets in readers a moment before its recovery ends.
      const client = new Client(clientSettings(address('postgres'), 'a test'))
      await client.connect()
      await waitUntil('the end of its recovery', async () => {
        const { rows } = await client.query('select where not pg_is_in_recovery()')
        return rows.length > 0
      })
      await client.end()
    },
    stop: (mode = 'fast') => end(child, mode === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    kill: () => killAll(child),
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
      release()
    },
  }
}

/**
 * The folder in memory: creating and dropping the database of a test takes a third of the time there. Removes what runs
 * that were killed have left in it. A server that waits for the disk is meant to have one.
 */
async function chooseParent({ fsync }: Readonly<Record<string, string>>): Promise<string> {
  if (fsync === 'on') return tmpdir()
  const parent = await chooseMemoryFolder()
  if (parent === tmpdir()) return parent
  for (const name of await readdir(parent)) {
    const [, pid] = /^waxwing-test-(\d+)-/.exec(name) ?? []
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(path.join(parent, name), { recursive: true, force: true })
  }
  return parent
}

const run = promisify(execFile)

async function takeBaseBackup(
  address: DatabaseAddress & { password: string },
  data: string,
  user: SystemUser | null,
): Promise<BaseBackup> {
  const place = await mkdtemp(path.join(tmpdir(), 'waxwing-backup-'))
  const folder = path.join(place, 'data')
  const client = new Client(clientSettings(address, 'a backup'))
  await client.connect()
  try {
    await client.query(`select pg_backup_start('test', true)`)
    await copyRunning(data, folder)
    const { rows } = await client.query<{ label: string }>(
      'select labelfile as label from pg_backup_stop(false)',
    )
    await makeFile(path.join(folder, 'backup_label'), rows[0]!.label, user)
  } finally {
    await client.end()
  }
  await rm(path.join(folder, 'postmaster.pid'))
  const remove = () => rm(place, { recursive: true, force: true })
  return { folder, password: address.password, [Symbol.asyncDispose]: remove }
}

/** Files that the server removes meanwhile are not in the copy, which its log makes whole. */
async function copyRunning(data: string, folder: string): Promise<void> {
  await run('cp', ['-a', data, folder], { env: { ...process.env, LC_ALL: 'C' } }).catch((error: unknown) => {
    const { stderr = '' } = error as { stderr?: string }
    const isGone = (line: string) => line.endsWith(': No such file or directory')
    if (!stderr.trim().split('\n').every(isGone)) throw error
  })
}

/** @returns the password, which is that of the server that was copied */
async function useBackup({ backup, as }: Origin, data: string, user: SystemUser | null): Promise<string> {
  await run('cp', ['-a', backup.folder, data])
  await makeFile(path.join(data, `${as}.signal`), '', user)
  return backup.password
}

async function makeFile(file: string, content: string, user: SystemUser | null) {
  await writeFile(file, content, { mode: 0o600 })
  if (user) await chown(file, user.uid, user.gid)
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
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  process.kill(pid, signal)
  for (const each of await childrenOf(pid)) signalOne(each, signal)
}

async function killAll(child: ChildProcess) {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.ref()
  process.kill(pid, 'SIGSTOP')
  for (const each of [...(await childrenOf(pid)), pid]) signalOne(each, 'SIGKILL')
  await ended
}

async function childrenOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return children.split(' ').filter(Boolean).map(Number)
}

/** Whether there is such a process. That of another user may not be signalled. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended meanwhile.
  }
}
