import { execFile } from 'node:child_process'
import { chmod, mkdtemp, open, rm, statfs, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { TestContext } from 'vitest'

const run = promisify(execFile)

/** A separate disk that can be filled. Disposing it unmounts it; its users must have ended. */
export interface SmallDisk extends AsyncDisposable {
  path: string
  /** Uses all of its space except `leftBytes`. */
  fill(leftBytes?: number): Promise<void>
  /** Frees what `fill` used. */
  free(): Promise<void>
}

const PIECE = Buffer.alloc(64 * 1024)

/**
 * Mounts a disk in memory, which needs root and the right to mount: a container needs `--cap-add SYS_ADMIN`. Without
 * that, the test is skipped with a message; in CI it fails.
 */
export async function mountSmallDisk(context: TestContext, megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-disk-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=711`, 'waxwing-test', folder])
  } catch (error) {
    await rm(folder, { recursive: true })
    const reason = error instanceof Error ? error.message.trim() : ''
    const message = `A full disk needs root and the right to mount a tmpfs, and one of them is missing: ${reason}`
    if (process.env['CI'] === 'true') throw new Error(message, { cause: error })
    return context.skip(message)
  }
  await chmod(folder, 0o711)
  const filler = path.join(folder, 'filler')
  return {
    path: folder,
    async fill(leftBytes = 0) {
      const file = await open(filler, 'a', 0o600)
      try {
        for (;;) {
          const { bavail, bsize } = await statfs(folder)
          const room = bavail * bsize - leftBytes
          if (room <= 0) return
          await file.write(PIECE, 0, Math.min(room, PIECE.length)).catch(ignoreFull)
        }
      } finally {
        await file.close()
      }
    },
    free: () => truncate(filler, 0),
    async [Symbol.asyncDispose]() {
      await run('umount', [folder])
      await rm(folder, { recursive: true })
    },
  }
}

/** Ignores that other writers used the last space. */
function ignoreFull(error: unknown) {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
}
