import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * Makes a folder with those above it that are missing. @returns the topmost that was made; null where all were there.
 * `mkdir` with `recursive` never ends where a folder can be looked into but holds no new ones (`/proc`).
 */
export async function makeFolder(folder: string, mode: number): Promise<string | null> {
  const made = await tryMake(folder, mode)
  if (made !== 'no parent') return made ? folder : null
  const parent = path.dirname(folder)
  const topmost = parent === folder ? null : await makeFolder(parent, mode)
  if ((await tryMake(folder, mode)) === 'no parent') {
    throw new Error(`${parent} holds no new folders`)
  }
  return topmost ?? folder
}

/** @returns whether it was made, and not there already */
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
