import { randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { isUuid } from '../../kit/ids.ts'
import { makeFolder } from '../../kit/make-folder.ts'
import { CommandError } from '../command-error.ts'
import { PIECE_BYTES } from './backup-file.ts'

/** Lists the folders of tenants, in which stored files are. */
async function listTenantFolders(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter(isUuid).toSorted()
}

export async function hasFiles(blobDir: string): Promise<boolean> {
  return (await listTenantFolders(blobDir)).length > 0
}

/**
 * The size and the pieces of a stored file, or null if it is gone. Files are never changed, only created and removed.
 */
export async function openStoredFile(blobDir: string, key: string) {
  const handle = await open(path.join(blobDir, key), 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!handle) {
    // If the folder is missing as well, it is not mounted.
    await stat(blobDir).catch((error: Error) => {
      throw new CommandError(`The stored messages in ${blobDir} cannot be read: ${error.message}`)
    })
    return null
  }
  const { size } = await handle.stat()
  return {
    bytes: size,
    async *pieces() {
      for (let left = size; left > 0;) {
        const buffer = Buffer.allocUnsafe(Math.min(left, PIECE_BYTES))
        const { bytesRead } = await handle.read(buffer, 0, buffer.length)
        if (bytesRead === 0) throw new Error(`The stored file ${key} became shorter while it was read`)
        left -= bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    },
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

/**
 * New files are prepared beside the existing ones and then replace them at once. Disposing without `keep` moves
 * everything back. What cannot be moved back stays where it is, and `warn` says where.
 */
export async function openStaging(blobDir: string, warn: (line: string) => void) {
  await makeFolder(blobDir, 0o700)
  const id = randomUUID()
  const staged = path.join(blobDir, `.restore-${id}`)
  const replaced = path.join(blobDir, `.replaced-${id}`)
  for (const folder of [staged, replaced]) await makeFolder(folder, 0o700)
  const moved: Array<{ from: string; to: string }> = []
  const moveAll = async (source: string, target: string) => {
    for (const name of await listTenantFolders(source)) {
      const move = { from: path.join(source, name), to: path.join(target, name) }
      await rename(move.from, move.to)
      moved.push(move)
    }
  }
  /** Starts with the last move, since it may have taken a name that an earlier one freed. */
  const putBack = async () => {
    let isWhole = true
    for (const { from, to } of moved.toReversed()) {
      try {
        await rename(to, from)
      } catch (error) {
        isWhole = false
        const reason = error instanceof Error ? error.message : String(error)
        warn(`${to} could not be moved back to ${from} and stays where it is: ${reason}`)
      }
    }
    return isWhole
  }
  let isKept = false
  return {
    async create(key: string) {
      const file = path.join(staged, key)
      await makeFolder(path.dirname(file), 0o700)
      const handle = await open(file, 'wx', 0o600)
      return {
        write: (piece: Buffer) => handle.writeFile(piece),
        [Symbol.asyncDispose]: () => handle.close(),
      }
    },
    async swap() {
      await moveAll(blobDir, replaced)
      await moveAll(staged, blobDir)
    },
    keep: () => void (isKept = true),
    async [Symbol.asyncDispose]() {
      if (!isKept && !(await putBack())) return
      for (const folder of [staged, replaced]) await rm(folder, { recursive: true, force: true })
    },
  }
}
