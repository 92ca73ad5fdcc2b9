import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { makeFolder } from '../make-folder.ts'
import { openFrames, sealFrames, type Sealing } from './sealed-frames.ts'

const KEY = /^[0-9a-f-]{2,64}(?:\/[0-9a-f-]{2,64}){0,4}$/

/** A file that is being written. It is there with `commit`, whole, or not at all. */
export interface BlobWriter {
  write(bytes: Uint8Array): Promise<void>
  /** @returns the octets that it takes on the disk */
  commit(): Promise<number>
  abort(): Promise<void>
}

/** Files below one folder, compressed and sealed. A key is a path of hexadecimal names. */
export interface BlobStore {
  create(key: string, sealing: Sealing): Promise<BlobWriter>
  /** Throws `SealError` for a file that is not what was sealed, and what the file system throws (`ENOENT`). */
  read(key: string, sealing: Sealing): AsyncGenerator<Buffer>
  /** Also what a process that died left of it. Does nothing where there is none. */
  remove(key: string): Promise<void>
}

export function openBlobStore(folder: string): BlobStore {
  const fileOf = (key: string) => {
    if (!KEY.test(key)) throw new Error('That is no key of a blob')
    return path.join(folder, key)
  }
  return {
    create: (key, sealing) => createBlob(fileOf(key), sealing),
    read: (key, sealing) => readBlob(fileOf(key), sealing),
    async remove(key) {
      for (const file of [partialOf(fileOf(key)), fileOf(key)]) await rm(file, { force: true })
    },
  }
}

const partialOf = (file: string) => `${file}.part`

async function createBlob(file: string, sealing: Sealing): Promise<BlobWriter> {
  await makeFolder(path.dirname(file), 0o700)
  const partial = partialOf(file)
  // Opened before anything can break off: a stream that opens by itself may make the file after it was removed.
  const handle = await open(partial, 'w', 0o600)
  const input = new PassThrough()
  const written = pipeline(
    input,
    createZstdCompress(),
    (compressed: AsyncIterable<Buffer>) => sealFrames(compressed, sealing),
    // Flushed before it is closed: a name must not outlive a crash that its content does not.
    handle.createWriteStream({ flush: true }),
  )
  // Whoever writes next is told.
  written.catch(() => undefined)
  return {
    async write(bytes) {
      if (!input.write(bytes)) await Promise.race([once(input, 'drain'), written])
    },
    async commit() {
      input.end()
      await written
      await rename(partial, file)
      await syncFolder(path.dirname(file))
      return (await stat(file)).size
    },
    async abort() {
      input.destroy()
      await written.catch(() => undefined)
      await rm(partial, { force: true })
    },
  }
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}

async function* readBlob(file: string, sealing: Sealing): AsyncGenerator<Buffer> {
  const plain = createZstdDecompress()
  const opened = pipeline(
    createReadStream(file),
    (sealed: AsyncIterable<Buffer>) => openFrames(sealed, sealing),
    plain,
  )
  opened.catch(() => undefined)
  try {
    for await (const bytes of plain as Readable) yield bytes
  } catch (error) {
    // The first thing that failed, rather than that the rest was then cut off.
    await opened
    throw error
  } finally {
    plain.destroy()
  }
}
