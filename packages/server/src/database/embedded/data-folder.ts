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
import { identifyFolder } from './folder-identity.ts'
import { type PostgresBinaries, PostgresUnavailable, STAGED } from './postgres-binaries.ts'
import { findRunningSocket, SOCKET_NAME } from './running-server.ts'
import { blockedAt, type SystemUser } from './system-user.ts'

/** An existing cluster, with what is needed to start and reach it. */
export interface LocalCluster {
  folders: ClusterFolders
  password: string
}

/** `sockaddr_un` holds 108 bytes, including the closing zero. */
const SOCKET_PATH_BYTES_MAX = 107
const CLUSTER = 'cluster'
const SOCKET_FOLDER = 'run'
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
    data: path.join(home, CLUSTER),
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
    const password = await createCluster(binaries, path.join(staged, CLUSTER), user)
    await writeFile(path.join(staged, 'password'), `${password}\n`, { mode: 0o600, flush: true })
    await rename(staged, home)
  } catch (error) {
    await rm(staged, { recursive: true, force: true })
    if (!(await exists(path.join(home, 'password')))) throw error
  }
}

/**
 * Removes the temporary folders of interrupted starts, and the socket folders of the clusters that this one is a copy of
 * or follows. Only the owner of the data folder may call it.
 */
export async function removeRemains(dataFolder: string, { folders }: LocalCluster): Promise<void> {
  const home = path.dirname(folders.data)
  const staged = await list(dataFolder, name => name.startsWith(STAGED))
  const sockets = await list(home, name => name === SOCKET_FOLDER || name.startsWith(`${SOCKET_FOLDER}-`))
  const remains = [...staged, ...sockets.filter(folder => folder !== folders.socket)]
  await Promise.all(remains.map(folder => rm(folder, { recursive: true, force: true })))
}

async function list(folder: string, isMeant: (name: string) => boolean): Promise<string[]> {
  return (await readdir(folder)).filter(isMeant).map(name => path.join(folder, name))
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
 * Prepares the folder of the socket. Each cluster has its own: a server that was left running when its data folder was
 * deleted removes its socket when it ends, and must not remove that of the cluster that took its place. It keeps the
 * inode of its folder in use. The server of an earlier release may still run with a folder of another name.
 */
async function prepareSocketFolder(dataFolder: string, home: string, user: SystemUser | null) {
  const cluster = path.join(home, CLUSTER)
  const running = await findRunningSocket(cluster)
  if (running !== null) return running
  const { inode } = await identifyFolder(cluster)
  const beside = path.join(home, `${SOCKET_FOLDER}-${BigInt(inode).toString(36)}`)
  if (Buffer.byteLength(path.join(beside, SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX) {
    await makePrivateFolder(beside, user)
    return beside
  }
  return prepareSocketInTmp(`${dataFolder} ${inode}`, user)
}

/** A folder in /tmp for a data folder whose path is too long for a socket. Its name depends only on `owner`. */
async function prepareSocketInTmp(owner: string, user: SystemUser | null) {
  const digest = createHash('sha256').update(owner).digest('hex').slice(0, 16)
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
