import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * Creates a folder and its missing parents. @returns the topmost folder that was created; null if all existed.
 * `mkdir` with `recursive` never ends if a folder can be read but accepts no new folders (`/proc`).
 */
export async function makeFolder(folder: string, mode: number): Promise<string | null> {
  const made = await tryMake(folder, mode)
  if (made !== 'no parent') return made ? folder : null
  const parent = path.dirname(folder)
  const topmost = parent === folder ? null : await makeFolder(parent, mode)
  if ((await tryMake(folder, mode)) === 'no parent') {
    throw new Error(`${parent} accepts no new folders`)
  }
  return topmost ?? folder
}

/** @returns whether it was created, and did not exist before */
async function tryMake(folder: string, mode: number): Promise<boolean | 'no parent'> {
  try {
    await mkdir(folder, { mode })
    return true
  } catch (error) {
    const found = await stat(folder).catch(() => null)
    if (found?.isDirectory()) return false
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'no parent'
    throw error
  }
}
