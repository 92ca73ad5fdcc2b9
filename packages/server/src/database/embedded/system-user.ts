import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'

/** A user of the operating system. */
export interface SystemUser {
  uid: number
  gid: number
}

const NOBODY: SystemUser = { uid: 65_534, gid: 65_534 }

/**
 * The user that PostgreSQL runs as, or null for our own user. As PostgreSQL refuses to run as root, root uses `nobody`.
 */
export async function postgresUser(): Promise<SystemUser | null> {
  if (process.getuid?.() !== 0) return null
  const accounts = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const fields = accounts
    .split('\n')
    .find(line => line.startsWith('nobody:'))
    ?.split(':')
  if (!fields?.[2] || !fields[3]) return NOBODY
  return { uid: Number(fields[2]), gid: Number(fields[3]) }
}

/** Whether a user may pass through every folder on the way to a file or folder, and enter or run it. */
export async function canReach(target: string, user: SystemUser): Promise<boolean> {
  return (await blockedAt(target, user)) === null
}

/** The first folder (or the target itself) that the user may not enter, or null if there is none. */
export async function blockedAt(target: string, user: SystemUser): Promise<string | null> {
  const { root } = path.parse(target)
  const parts = path.relative(root, target).split(path.sep)
  let current = root
  for (const part of ['', ...parts]) {
    current = path.join(current, part)
    const { uid, gid, mode } = await stat(current)
    const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
    if (((mode >> shift) & 1) === 0) return current
  }
  return null
}
