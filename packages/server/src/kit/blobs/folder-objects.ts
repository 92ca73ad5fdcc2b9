import { createReadStream, type Dirent } from 'node:fs'
import { open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../make-folder.ts'
import {
  type ListedObject,
  ObjectMissing,
  type ObjectStore,
  type ObjectWriter,
  PAGE_OBJECTS,
  type StoredObject,
} from './object-store.ts'

const FILE_MODE = 0o600
/** Most messages are below this, and are read without a stream. */
const SMALL_FILE_BYTES = 64 * 1024

/**
 * Objects as files below a folder. Only durable ones are flushed to disk: after a power failure, other recent files may
 * be cut off or missing.
 */
export function openFolderObjects(folder: string): ObjectStore {
  const fileOf = (key: string) => path.join(folder, key)
  return {
    name: `the folder ${folder}`,
    async put(key, content, { isDurable } = { isDurable: false }) {
      const file = fileOf(key)
      await inFolder(file, () => writeFile(file, content, { mode: FILE_MODE, flush: isDurable }))
      if (isDurable) await flushFolder(path.dirname(file))
    },
    create: key => createFile(fileOf(key)),
    open: key => openFile(folder, key),
    remove: key => rm(fileOf(key), { force: true }),
    list: after => listPages(folder, after),
    // An interrupted write leaves a file, which its key finds.
    sweepUploads: async () => {},
  }
}

/** Creates the folder only if it is missing, since it is nearly always there. */
async function inFolder<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  await makeFolder(path.dirname(file), 0o700)
  return work()
}

/** A new file is found after a power failure once its folder is on disk. */
async function flushFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

async function createFile(file: string): Promise<ObjectWriter> {
  const handle = await inFolder(file, () => open(file, 'w', FILE_MODE))
  return {
    write: bytes => handle.writeFile(bytes),
    commit: () => handle.close(),
    async abort() {
      await handle.close()
      await rm(file, { force: true })
    },
  }
}

async function openFile(folder: string, key: string): Promise<StoredObject> {
  const file = path.join(folder, key)
  try {
    const { size } = await stat(file)
    if (size > SMALL_FILE_BYTES) return { bytes: size, content: readLarge(file) }
    return { bytes: size, content: whole(await readFile(file)) }
  } catch (error) {
    if (isMissing(error)) throw new ObjectMissing(key, { cause: error })
    throw error
  }
}

async function* whole(content: Buffer): AsyncGenerator<Buffer, void, void> {
  yield content
}

async function* readLarge(file: string): AsyncGenerator<Buffer, void, void> {
  yield* createReadStream(file) as AsyncIterable<Buffer>
}

async function* listPages(folder: string, after: string): AsyncGenerator<ListedObject[], void, void> {
  let page: ListedObject[] = []
  for await (const key of walk(folder, '', after)) {
    const found = await stat(path.join(folder, key)).catch(() => null)
    if (found) page.push({ key, modifiedAt: found.mtime })
    if (page.length < PAGE_OBJECTS) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

/** The keys behind `after`, in their order. Reads one folder of each level at a time. */
async function* walk(folder: string, below: string, after: string): AsyncGenerator<string, void, void> {
  for (const entry of await entriesOf(path.join(folder, below))) {
    const key = `${below}${entry.name}`
    if (entry.isFile() && below !== '' && key > after) yield key
    const inside = `${key}/`
    if (entry.isDirectory() && (inside > after || after.startsWith(inside)))
      yield* walk(folder, inside, after)
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
