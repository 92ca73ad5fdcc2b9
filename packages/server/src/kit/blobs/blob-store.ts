import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { makeFolder } from '../make-folder.ts'
import { SealError } from '../seal.ts'
import { openFrames, sealFrames, type Sealing } from './sealed-frames.ts'

const KEY = /^[0-9a-f-]{2,64}(?:\/[0-9a-f-]{2,64}){0,4}$/

/** A file that is being written. It is complete after `commit`. */
export interface BlobWriter {
  write(bytes: Uint8Array): Promise<void>
  /** @returns its size on disk in bytes */
  commit(): Promise<number>
  abort(): Promise<void>
}

/**
 * Files below one folder, compressed and sealed. A key is a path of hexadecimal names. Nothing is flushed to disk:
 * after a power failure, recent files may be cut off or missing, and reading them fails.
 */
export interface BlobStore {
  /** Writes a whole file whose content easily fits into memory. @returns its size on disk in bytes */
  put(key: string, sealing: Sealing, content: Uint8Array): Promise<number>
  create(key: string, sealing: Sealing): Promise<BlobWriter>
  /** Throws `SealError` if the file is not what was sealed, and the errors of the file system (`ENOENT`). */
  read(key: string, sealing: Sealing): AsyncGenerator<Buffer>
  /** Whether an error of `read` means that the file is gone or damaged, rather than temporarily unreadable. */
  isLost(error: unknown): Promise<boolean>
  /** Removes the whole file or nothing. Does nothing if there is none. */
  remove(key: string): Promise<void>
}

export function openBlobStore(folder: string): BlobStore {
  const fileOf = (key: string) => {
    if (!KEY.test(key)) throw new Error('That is no key of a blob')
    return path.join(folder, key)
  }
  return {
    put: (key, sealing, content) => putBlob(fileOf(key), sealing, content),
    create: (key, sealing) => createBlob(fileOf(key), sealing),
    read: (key, sealing) => readBlob(fileOf(key), sealing),
    isLost: error => isLost(folder, error),
    remove: key => rm(fileOf(key), { force: true }),
  }
}

async function putBlob(file: string, sealing: Sealing, content: Uint8Array): Promise<number> {
  const frames: Buffer[] = []
  // Not in a thread: setting one up for each file takes twenty times as long as compressing a message.
  for await (const frame of sealFrames([zstdCompressSync(content)], sealing)) frames.push(frame)
  const sealed = Buffer.concat(frames)
  await inFolder(file, () => writeFile(file, sealed, { mode: FILE_MODE }))
  return sealed.length
}

async function isLost(folder: string, error: unknown): Promise<boolean> {
  if (error instanceof SealError) return true
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // If the folder is missing as well, it is not mounted.
  if (code === 'ENOENT') return (await stat(folder).catch(() => null))?.isDirectory() === true
  // Error codes of zlib: Z_BUF_ERROR, ZSTD_error_prefix_unknown.
  return code.startsWith('Z')
}

const FILE_MODE = 0o600

/** Creates the folder only if it is missing, since it is nearly always there. */
async function inFolder<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  await makeFolder(path.dirname(file), 0o700)
  return work()
}

async function createBlob(file: string, sealing: Sealing): Promise<BlobWriter> {
  // Opened before anything can be interrupted: a stream that opens its file itself may create it again after its
  // removal.
  const handle = await inFolder(file, () => open(file, 'w', FILE_MODE))
  const input = new PassThrough()
  const output = handle.createWriteStream()
  const written = pipeline(
    input,
    createZstdCompress(),
    (compressed: AsyncIterable<Buffer>) => sealFrames(compressed, sealing),
    output,
  )
  // The next writer gets the error.
  written.catch(() => undefined)
  return {
    async write(bytes) {
      if (!input.write(bytes)) await Promise.race([once(input, 'drain'), written])
    },
    async commit() {
      input.end()
      await written
      return output.bytesWritten
    },
    async abort() {
      input.destroy()
      await written.catch(() => undefined)
      await rm(file, { force: true })
    },
  }
}

/** Most messages are below both, and need no streams. */
const SMALL_FILE_BYTES = 64 * 1024
const SMALL_CONTENT_BYTES = 1024 * 1024

async function* readBlob(file: string, sealing: Sealing): AsyncGenerator<Buffer> {
  const small = (await stat(file)).size <= SMALL_FILE_BYTES ? await readSmall(file, sealing) : null
  if (small) yield small
  else yield* readLarge(file, sealing)
}

/** Null if a small file expands to too much content. */
async function readSmall(file: string, sealing: Sealing): Promise<Buffer | null> {
  const frames: Buffer[] = []
  for await (const frame of openFrames([await readFile(file)], sealing)) frames.push(frame)
  try {
    return zstdDecompressSync(Buffer.concat(frames), { maxOutputLength: SMALL_CONTENT_BYTES })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') return null
    throw error
  }
}

async function* readLarge(file: string, sealing: Sealing): AsyncGenerator<Buffer> {
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
    // This is the first error; the rest failed because of it.
    await opened
    throw error
  } finally {
    plain.destroy()
  }
}
