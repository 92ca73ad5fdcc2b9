import { createHash, randomUUID } from 'node:crypto'
import {
  access,
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../../kit/make-folder.ts'
import { type ClusterFolders, createCluster, makePrivateFolder } from './cluster.ts'
import { type PostgresBinaries, PostgresUnavailable, STAGED } from './postgres-binaries.ts'
import { blockedAt, type SystemUser } from './system-user.ts'

/** An existing cluster, with what is needed to start and reach it. */
export interface LocalCluster {
  folders: ClusterFolders
  password: string
}

/** `sockaddr_un` holds 108 bytes, including the closing zero. */
const SOCKET_PATH_BYTES_MAX = 107
const SOCKET_NAME = '/.s.PGSQL.5432'
const LOG_BYTES_MAX = 10_000_000

/**
 * Creates the data folder if it is missing and returns its real path. Refuses one that PostgreSQL cannot use.
 */
export async function prepareDataFolder(dataDir: string, user: SystemUser | null): Promise<string> {
  try {
    const made = await makeFolder(dataDir, 0o700)
    // PostgreSQL's user may pass through the folders that we created; below them, only its own folder is open to it.
    if (made && user) for (const folder of foldersBetween(made, dataDir)) await chmod(folder, 0o711)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    throw new PostgresUnavailable(`The data folder ${dataDir} cannot be created or used: ${reason}`, {
      cause: error,
    })
  }
  const folder = await realpath(dataDir)
  const blocked = user && (await blockedAt(folder, user))
  if (blocked) {
    throw new PostgresUnavailable(
      `The data folder ${dataDir} cannot be used as root: PostgreSQL then runs as the user "nobody", who may not ` +
        `enter ${blocked}. Leave WAXWING_DATA_DIR unset to use /var/lib/waxwing, choose another folder, or open ` +
        `the way with: chmod o+x ${blocked}`,
    )
  }
  return folder
}

/** The cluster of a data folder, created at the first start. */
export async function prepareCluster(
  dataFolder: string,
  binaries: PostgresBinaries,
  user: SystemUser | null,
): Promise<LocalCluster> {
  const home = path.join(dataFolder, 'postgres')
  if (!(await exists(path.join(home, 'password')))) await createHome(dataFolder, home, binaries, user)
  const folders = {
    data: path.join(home, 'cluster'),
    socket: await prepareSocketFolder(dataFolder, home, user),
    log: path.join(home, 'log'),
  }
  return { folders, password: (await readFile(path.join(home, 'password'), 'utf8')).trim() }
}

/**
 * Creates the cluster in a temporary folder, which is then renamed. An interrupted start leaves nothing half-done; of
 * two first starts at the same time, one wins and the other uses its cluster.
 */
async function createHome(
  dataFolder: string,
  home: string,
  binaries: PostgresBinaries,
  user: SystemUser | null,
) {
  const staged = path.join(dataFolder, STAGED + randomUUID())
  await mkdir(staged, { mode: 0o700 })
  if (user) await chmod(staged, 0o711)
  try {
    const password = await createCluster(binaries, path.join(staged, 'cluster'), user)
    await writeFile(path.join(staged, 'password'), `${password}\n`, { mode: 0o600, flush: true })
    await rename(staged, home)
  } catch (error) {
    await rm(staged, { recursive: true, force: true })
    if (!(await exists(path.join(home, 'password')))) throw error
  }
}

/** Removes the temporary folders of interrupted starts. Only the owner of the data folder may call it. */
export async function removeStaged(dataFolder: string) {
  const names = await readdir(dataFolder)
  const staged = names.filter(name => name.startsWith(STAGED))
  await Promise.all(staged.map(name => rm(path.join(dataFolder, name), { recursive: true, force: true })))
}

/** Limits the size of the server's log. Called before the server starts. */
export async function rotateLog(log: string) {
  const size = await stat(log).then(
    found => found.size,
    () => 0,
  )
  if (size > LOG_BYTES_MAX) await rename(log, `${log}.1`)
}

/**
 * Removes lock files that name a living process which is not a PostgreSQL of this folder. After a restart of the
 * machine or container, the process id may belong to another program, and PostgreSQL would refuse to start. Only Linux
 * allows this check.
 */
export async function removeForeignLocks(folders: ClusterFolders) {
  const lock = path.join(folders.data, 'postmaster.pid')
  const pid = Number.parseInt(await readFile(lock, 'utf8').catch(() => ''), 10)
  const command = pid > 0 ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null) : null
  if (command === null || command.split('\0').includes(folders.data)) return
  await rm(lock, { force: true })
  await rm(`${folders.socket}${SOCKET_NAME}.lock`, { force: true })
}

/**
 * Prepares the folder of the socket: beside the cluster, or, if that path is too long for a socket, in /tmp under a
 * name that depends only on the path.
 */
async function prepareSocketFolder(dataFolder: string, home: string, user: SystemUser | null) {
  const beside = path.join(home, 'run')
  if (Buffer.byteLength(beside + SOCKET_NAME) <= SOCKET_PATH_BYTES_MAX) {
    await makePrivateFolder(beside, user)
    return beside
  }
  const digest = createHash('sha256').update(dataFolder).digest('hex').slice(0, 16)
  const folder = `/tmp/waxwing-${digest}`
  // Anyone can create names in /tmp, so an existing folder must belong to us and be closed to others.
  await mkdir(folder, { mode: 0o700 }).then(
    () => user && chown(folder, user.uid, user.gid),
    () => {},
  )
  const { uid, mode } = await lstat(folder)
  const isOurs = uid === (user?.uid ?? process.getuid?.()) && (mode & 0o77) === 0
  if (!isOurs)
    throw new PostgresUnavailable(
      `${folder} belongs to another user. Remove it, or use a shorter WAXWING_DATA_DIR.`,
    )
  return folder
}

/** The folders from `top` down to `bottom`, including both. */
function foldersBetween(top: string, bottom: string): string[] {
  const parts = path.relative(top, bottom).split(path.sep).filter(Boolean)
  return [top, ...parts.map((_, index) => path.join(top, ...parts.slice(0, index + 1)))]
}

async function exists(file: string) {
  return access(file).then(
    () => true,
    () => false,
  )
}
