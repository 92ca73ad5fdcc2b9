import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'

const MEMORY_FOLDER = '/dev/shm'
const MEMORY_BYTES_MIN = 4 * 1024 ** 3

/** A folder in memory for what a test writes, since nothing there waits for a disk; one on a disk without room for it. */
export async function chooseMemoryFolder(): Promise<string> {
  const room = await statfs(MEMORY_FOLDER).catch(() => null)
  return room === null || room.bavail * room.bsize < MEMORY_BYTES_MIN ? tmpdir() : MEMORY_FOLDER
}
