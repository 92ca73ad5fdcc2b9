import { randomUUID } from 'node:crypto'
import { rm, statfs, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Why nothing can be written to a disk. */
export type DiskTrouble = 'is full' | 'has no quota left' | 'can only be read'

const TROUBLE_OF_CODE: Record<string, DiskTrouble> = {
  ENOSPC: 'is full',
  EDQUOT: 'has no quota left',
  EROFS: 'can only be read',
}

/** The same reasons in the words of other programs: strerror(3), and PostgreSQL's hint if a write was cut short. */
const TROUBLE_IN_WORDS: readonly (readonly [text: RegExp, trouble: DiskTrouble])[] = [
  [/No space left on device|Check free disk space/, 'is full'],
  [/Disk quota exceeded/, 'has no quota left'],
  [/Read-only file system/, 'can only be read'],
]

const REMEDIES: Record<DiskTrouble, string> = {
  'is full': 'Free space on it, or move to a larger one.',
  'has no quota left': 'Raise the quota of the user of the service, or delete files of that user.',
  'can only be read': 'Mount it for writing; after an error of the disk, check it first.',
}

/** PostgreSQL writes a few files when it starts, and needs at least this much space. */
const LEAST_BYTES = 64 * 1024

/** Null if an error of the file system has another cause. */
export function diskTroubleOf(error: unknown): DiskTrouble | null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? (TROUBLE_OF_CODE[code] ?? null) : null
}

/** The reason in an error text of another program; null if it is not about disk space. */
export function diskTroubleIn(text: string): DiskTrouble | null {
  return TROUBLE_IN_WORDS.find(([pattern]) => pattern.test(text))?.[1] ?? null
}

/** Writes a small file and removes it, to find out whether the disk of a folder accepts writes. */
export async function findDiskTrouble(folder: string): Promise<DiskTrouble | null> {
  const file = path.join(folder, `.room-${randomUUID()}`)
  try {
    // Root may write when others have no space left, and PostgreSQL never runs as root.
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < LEAST_BYTES) return 'is full'
    await writeFile(file, Buffer.alloc(LEAST_BYTES), { mode: 0o600, flush: true })
    return null
  } catch (error) {
    return diskTroubleOf(error)
  } finally {
    await rm(file, { force: true }).catch(() => {})
  }
}

/** A text for people: what is wrong with the disk of `what`, and what to do. */
export function describeDiskTrouble(what: string, trouble: DiskTrouble): string {
  return `The disk of ${what} ${trouble}. ${REMEDIES[trouble]}`
}
