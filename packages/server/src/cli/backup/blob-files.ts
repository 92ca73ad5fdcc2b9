import { randomUUID } from 'node:crypto'
import { open, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { idOfKey } from '../../kit/blobs/blob-key.ts'
import { ObjectMissing, type ObjectStore } from '../../kit/blobs/object-store.ts'
import { cutIntoPieces } from '../../kit/blobs/pieces.ts'
import { isUuid } from '../../kit/ids.ts'
import { makeFolder } from '../../kit/make-folder.ts'

/** Whether there are stored messages, of any installation. */
export async function hasFiles(objects: ObjectStore): Promise<boolean> {
  for await (const page of objects.list('')) if (page.some(({ key }) => idOfKey(key) !== null)) return true
  return false
}

/**
 * The size and the pieces of a stored file, or null if it is gone. Files are never changed, only created and removed.
 */
export async function openStoredFile(objects: ObjectStore, key: string) {
  try {
    const { bytes, content } = await objects.open(key)
    return { bytes, pieces: piecesOf(key, bytes, content) }
  } catch (error) {
    if (error instanceof ObjectMissing) return null
    throw error
  }
}

async function* piecesOf(key: string, bytes: number, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const piece of cutIntoPieces(content)) {
    left -= piece.length
    yield piece
  }
  if (left !== 0) throw new Error(`The stored file ${key} became shorter while it was read`)
}

/** Takes the files of a backup. Disposing it without `keep` leaves the store as it was. */
export interface Staging extends AsyncDisposable {
  create(key: string): Promise<StagedFile>
  /** Puts the new files in the place of the existing ones. */
  swap(): Promise<void>
  keep(): void
}

export interface StagedFile {
  write(piece: Buffer): Promise<void>
  commit(): Promise<void>
  abort(): Promise<void>
}

/**
 * Writes files to their keys at once, since a bucket cannot rename. Nothing is removed: no key is used by two messages,
 * and the service sweeps what no row names.
 */
export function openBucketStaging(objects: ObjectStore): Staging {
  return {
    create: key => objects.create(key),
    swap: async () => {},
    keep: () => {},
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Lists the folders of tenants, in which stored files are. */
async function listTenantFolders(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter(isUuid).toSorted()
}

/**
 * New files are prepared beside the existing ones and then replace them at once. Disposing without `keep` moves
 * everything back. A file that cannot be moved back stays where it is, and `warn` names its place.
 */
export async function openFolderStaging(blobDir: string, warn: (line: string) => void): Promise<Staging> {
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
        write: piece => handle.writeFile(piece),
        commit: () => handle.close(),
        abort: () => handle.close(),
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
