import { readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { ClusterFolders } from './cluster.ts'

/** The name of the socket in its folder. */
export const SOCKET_NAME = '.s.PGSQL.5432'
const LOCK_FILE = 'postmaster.pid'
/** The line of the lock file with the folder of the socket, counted from 0. */
const SOCKET_LINE = 4

/**
 * Removes lock files that name a living process which is not a PostgreSQL of this folder. After a restart of the
 * machine or container, the process id may belong to another program; in a copy of a folder, to the server of the
 * original. PostgreSQL would refuse to start.
 */
export async function removeForeignLocks(folders: ClusterFolders): Promise<void> {
  const [pid] = await readLock(folders.data)
  if ((await isServerOf(Number(pid), folders.data)) !== false) return
  await rm(path.join(folders.data, LOCK_FILE), { force: true })
  await rm(path.join(folders.socket, `${SOCKET_NAME}.lock`), { force: true })
}

/** The folder of the socket of the server that runs in a data folder of PostgreSQL, or null. */
export async function findRunningSocket(data: string): Promise<string | null> {
  const lines = await readLock(data)
  const folder = lines[SOCKET_LINE]
  return folder && (await isServerOf(Number(lines[0]), data)) === true ? folder : null
}

async function readLock(data: string): Promise<string[]> {
  const text = await readFile(path.join(data, LOCK_FILE), 'utf8').catch(() => '')
  return text.split('\n')
}

/** Whether a living process is the server of a data folder; null if that cannot be found out. Only Linux says it. */
async function isServerOf(pid: number, data: string): Promise<boolean | null> {
  if (!(pid > 0)) return null
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null)
  if (command === null) return null
  if (!command.split('\0').includes(data)) return false
  // A server keeps its folder open when another one takes its place. Not every container lets us look.
  const [own, now] = await Promise.all([stat(`/proc/${pid}/cwd`).catch(() => null), stat(data)])
  return own === null || (own.ino === now.ino && own.dev === now.dev)
}
