import { stat } from 'node:fs/promises'

/**
 * The values of a folder that a copy of it does not have. A restart of the machine, a move within the file system and
 * mounting it again change none of them. The number of its device is left out, since that changes with a mount.
 */
export interface FolderIdentity {
  inode: string
  /** Nanoseconds since 1970 at which the folder was created; null if the file system does not keep that. */
  birth: string | null
}

export async function identifyFolder(folder: string): Promise<FolderIdentity> {
  const { ino, birthtimeNs, ctimeNs } = await stat(folder, { bigint: true })
  // Node reports 0, or the time of the last change, if there is no birth time.
  const isKept = birthtimeNs > 0n && birthtimeNs !== ctimeNs
  return { inode: String(ino), birth: isKept ? String(birthtimeNs) : null }
}
