import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { SealError } from '../seal.ts'
import { ObjectMissing, type ObjectStore, type StoredObject } from './object-store.ts'
import { cutIntoPieces } from './pieces.ts'
import { openFrames, sealFrames, type Sealing } from './sealed-frames.ts'

const KEY = /^[0-9a-f-]{2,64}(?:\/[0-9a-f-]{2,64}){0,4}$/
/** The object of a trial. No key of a blob looks like it, and the next trial removes one that was left behind. */
const TRIAL_KEY = 'waxwing-trial'

/** A blob that is being written. It is complete after `commit`. */
export interface BlobWriter {
  write(bytes: Uint8Array): Promise<void>
  /** @returns its stored size in bytes */
  commit(): Promise<number>
  abort(): Promise<void>
}

/** Blobs, compressed and sealed, as objects of a store. A key is a path of hexadecimal names. */
export interface BlobStore extends Pick<ObjectStore, 'remove' | 'list' | 'sweepUploads'> {
  /** Writes a whole blob whose content easily fits into memory. @returns its stored size in bytes */
  put(key: string, sealing: Sealing, content: Uint8Array): Promise<number>
  create(key: string, sealing: Sealing): Promise<BlobWriter>
  /** Throws `SealError` if the object is not what was sealed, and the errors of `ObjectStore.open`. */
  read(key: string, sealing: Sealing): AsyncGenerator<Buffer>
  /** Rejects unless the store works: writes an object and removes it. Calls at the same time share one trial. */
  tryOut(): Promise<void>
}

export function openBlobStore(objects: ObjectStore): BlobStore {
  let trial: Promise<void> | null = null
  return {
    put: (key, sealing, content) => putBlob(objects, requireKey(key), sealing, content),
    create: (key, sealing) => createBlob(objects, requireKey(key), sealing),
    read: (key, sealing) => readBlob(objects, requireKey(key), sealing),
    tryOut: () => (trial ??= tryObjects(objects).finally(() => void (trial = null))),
    remove: key => objects.remove(requireKey(key)),
    list: after => objects.list(after),
    sweepUploads: signal => objects.sweepUploads(signal),
  }
}

/** Whether an error of `read` means that the blob is gone or damaged, rather than temporarily unreadable. */
export function isLost(error: unknown): boolean {
  if (error instanceof SealError || error instanceof ObjectMissing) return true
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // Error codes of zlib: Z_BUF_ERROR, ZSTD_error_prefix_unknown.
  return code.startsWith('Z')
}

function requireKey(key: string): string {
  if (!KEY.test(key)) throw new Error('That is no key of a blob')
  return key
}

async function tryObjects(objects: ObjectStore): Promise<void> {
  await objects.put(TRIAL_KEY, Buffer.from('trial'))
  await objects.remove(TRIAL_KEY)
  try {
    // A store that misses an object looks whether it is the right one: a folder that is not mounted can be written, too.
    const { content } = await objects.open(TRIAL_KEY)
    // Another process is trying as well.
    for await (const _ of content) break
  } catch (error) {
    if (!(error instanceof ObjectMissing)) throw error
  }
}

async function putBlob(
  objects: ObjectStore,
  key: string,
  sealing: Sealing,
  content: Uint8Array,
): Promise<number> {
  const frames: Buffer[] = []
  // Not in a thread: setting one up for each blob takes twenty times as long as compressing a message.
  for await (const frame of sealFrames([zstdCompressSync(content)], sealing)) frames.push(frame)
  const sealed = Buffer.concat(frames)
  await objects.put(key, sealed)
  return sealed.length
}

async function createBlob(objects: ObjectStore, key: string, sealing: Sealing): Promise<BlobWriter> {
  const output = await objects.create(key)
  const input = new PassThrough()
  let bytes = 0
  const written = pipeline(
    input,
    createZstdCompress(),
    (compressed: AsyncIterable<Buffer>) => sealFrames(compressed, sealing),
    async (sealed: AsyncIterable<Buffer>) => {
      for await (const frame of sealed) {
        await output.write(frame)
        bytes += frame.length
      }
    },
  )
  // The next writer gets the error.
  written.catch(() => undefined)
  return {
    async write(content) {
      if (!input.write(content)) await Promise.race([once(input, 'drain'), written])
    },
    async commit() {
      input.end()
      await written
      await output.commit()
      return bytes
    },
    async abort() {
      input.destroy()
      await written.catch(() => undefined)
      await output.abort()
    },
  }
}

/**
 * zlib makes a step in its thread for each piece that it takes or gives. A small step costs more than its work: it wakes
 * a thread, and then the event loop.
 */
const STEP_BYTES = 256 * 1024
/** Most messages are below both, and need no streams. */
const SMALL_OBJECT_BYTES = 64 * 1024
const SMALL_CONTENT_BYTES = 1024 * 1024

async function* readBlob(objects: ObjectStore, key: string, sealing: Sealing): AsyncGenerator<Buffer> {
  const object = await objects.open(key)
  if (object.bytes > SMALL_OBJECT_BYTES) yield* readLarge(object.content, sealing)
  else yield* readSmall(object, sealing)
}

async function* readSmall({ content }: StoredObject, sealing: Sealing): AsyncGenerator<Buffer> {
  const sealed = Buffer.concat(await Array.fromAsync(content))
  const frames = await Array.fromAsync(openFrames([sealed], sealing))
  let plain: Buffer | null = null
  try {
    plain = zstdDecompressSync(Buffer.concat(frames), { maxOutputLength: SMALL_CONTENT_BYTES })
  } catch (error) {
    // A small object may expand to too much content for one piece.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')) throw error
  }
  if (plain) yield plain
  else yield* readLarge(Readable.from([sealed]), sealing)
}

async function* readLarge(content: AsyncIterable<Buffer>, sealing: Sealing): AsyncGenerator<Buffer> {
  const plain = createZstdDecompress({ chunkSize: STEP_BYTES })
  const opened = pipeline(
    content,
    (sealed: AsyncIterable<Buffer>) => cutIntoPieces(openFrames(sealed, sealing), STEP_BYTES),
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
