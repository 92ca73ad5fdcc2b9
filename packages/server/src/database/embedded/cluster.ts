import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { clientSettings, type DatabaseAddress } from '../pool.ts'
import { limitSession } from '../session-limits.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import type { SystemUser } from './system-user.ts'

export const SUPERUSER = 'waxwing'

/** The folders of one cluster. */
export interface ClusterFolders {
  /** PostgreSQL's own data. */
  data: string
  /** The folder of its socket; at most 107 bytes including the socket's own name. */
  socket: string
  log: string
}

/** PostgreSQL finds its files relative to its binary, and must not see our environment. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** Creates a new cluster in an absent folder and returns the password of its superuser. */
export async function createCluster(
  binaries: PostgresBinaries,
  folder: string,
  user: SystemUser | null,
  locale: string[] = ['--locale-provider=builtin', '--locale=C.UTF-8'],
): Promise<string> {
  const password = randomBytes(24).toString('base64url')
  const passwordFile = `${folder}.password`
  await makePrivateFolder(folder, user)
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (user) await chown(passwordFile, user.uid, user.gid)
  try {
    await run(binaries.initdb, user, [
      `--pgdata=${folder}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--data-checksums',
      '--encoding=UTF8',
      ...locale,
    ])
  } finally {
    await rm(passwordFile, { force: true })
  }
  return password
}

/** Starts a server in its own process group, so that Ctrl-C in a terminal reaches only the service. */
export async function spawnServer(
  binaries: PostgresBinaries,
  folders: ClusterFolders,
  user: SystemUser | null,
  settings: Record<string, string>,
): Promise<ChildProcess> {
  const log = await open(folders.log, 'a', 0o600)
  try {
    const options = Object.entries({ listen_addresses: '', unix_socket_permissions: '0700', ...settings })
    const args = [
      '-D',
      folders.data,
      '-k',
      folders.socket,
      ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ]
    const child = spawn(binaries.postgres, args, {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      cwd: folders.data,
      env: ENVIRONMENT,
      ...user,
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.unref()
    return child
  } finally {
    await log.close()
  }
}

/** Connects as soon as the server accepts connections. Returns null when `hasEnded` or the time is up. */
export async function connectWhenReady(
  address: DatabaseAddress,
  applicationName: string,
  seconds: number,
  hasEnded: () => boolean = () => false,
): Promise<Client | null> {
  const until = Date.now() + seconds * 1000
  for (;;) {
    const client = await tryConnect(address, applicationName)
    if (client) return client
    if (hasEnded() || Date.now() > until) return null
    await sleep(20)
  }
}

const CONNECT_SECONDS = 5
/** Some users of the connection wait for locks that others hold for up to a minute. */
const ANSWER_SECONDS = 120

/** Returns a connected client, or null if no server listens yet or it is still starting or already stopping. */
export async function tryConnect(address: DatabaseAddress, applicationName: string): Promise<Client | null> {
  const client = new Client({
    ...clientSettings(address, applicationName),
    connectionTimeoutMillis: CONNECT_SECONDS * 1000,
    query_timeout: ANSWER_SECONDS * 1000,
  })
  client.on('error', () => {}) // the owner of the client listens for its end
  try {
    await client.connect()
    await limitSession(client)
    return client
  } catch (error) {
    await client.end().catch(() => {})
    if (isUnavailable(error)) return null
    throw error
  }
}

function isUnavailable(error: unknown) {
  if (!(error instanceof Error)) return false
  // 57P03: starting up, shutting down or recovering.
  if (error instanceof DatabaseError) return error.code === '57P03'
  const code = 'code' in error ? error.code : undefined
  return (
    code === 'ENOENT' ||
    code === 'ECONNREFUSED' ||
    code === 'ECONNRESET' ||
    code === 'EPIPE' ||
    /terminated unexpectedly|timeout/.test(error.message)
  )
}

/** The process id of the running server, as written in its data folder. */
export async function serverPid(dataFolder: string): Promise<number | null> {
  const text = await readFile(path.join(dataFolder, 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  return pid > 0 ? pid : null
}

export async function makePrivateFolder(folder: string, user: SystemUser | null) {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (user) await chown(folder, user.uid, user.gid)
}

async function run(program: string, user: SystemUser | null, args: string[]) {
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: '/',
    env: ENVIRONMENT,
    ...user,
  })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (complaint += text))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`${path.basename(program)} failed: ${complaint.trim()}`)
}
