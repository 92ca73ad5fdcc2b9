import type { Readable } from 'node:stream'
import {
  type ListedObject,
  ObjectMissing,
  type ObjectStore,
  PAGE_OBJECTS,
  StorageUnavailable,
  type StoredObject,
} from '../object-store.ts'
import { openS3Calls, type S3Calls, type S3Settings } from './s3-calls.ts'
import { createS3Writer, sweepUploads, type UploadRecord } from './s3-uploads.ts'

/** Longest wait for more of an object's content. */
const STALL_SECONDS = 15
/** Continuations in a row that bring nothing. */
const VAIN_CONTINUATIONS_MAX = 3

/** Objects in a bucket of S3, or of a store that speaks its protocol. */
export async function openS3Objects(settings: S3Settings, uploads: UploadRecord): Promise<ObjectStore> {
  const calls = await openS3Calls(settings)
  const { sdk, at, send } = calls
  return {
    name: calls.name,
    async put(key, content) {
      await send(new sdk.PutObjectCommand({ ...at(key), Body: content, ContentLength: content.length }))
    },
    create: async key => createS3Writer(calls, uploads, key),
    open: key => openObject(calls, key),
    async remove(key) {
      try {
        await send(new sdk.DeleteObjectCommand(at(key)))
      } catch (error) {
        if (!(error instanceof ObjectMissing)) throw error
      }
    },
    list: after => listPages(calls, after),
    sweepUploads: signal => sweepUploads(calls, uploads, signal),
  }
}

async function openObject(calls: S3Calls, key: string): Promise<StoredObject> {
  const { sdk, at, send, name } = calls
  const get = async (part: { Range?: string; IfMatch?: string } = {}) => {
    const answer = await send(new sdk.GetObjectCommand({ ...at(key), ...part }))
    // In Node the SDK gives the response itself.
    return { ...answer, Body: answer.Body as Readable }
  }
  const { Body, ContentLength, ETag } = await get()
  if (ContentLength === undefined) {
    Body.destroy()
    throw new StorageUnavailable('failing', `An answer of ${name} does not say how long the object is.`)
  }
  const bytes = ContentLength
  const continueAt = async (offset: number) => {
    const Range = `bytes=${offset}-${bytes - 1}`
    const { Body: rest, ContentRange } = await get({
      Range,
      ...(ETag === undefined ? {} : { IfMatch: ETag }),
    })
    if (ContentRange?.startsWith(`bytes ${offset}-`)) return rest
    rest.destroy()
    throw new StorageUnavailable('failing', `An answer of ${name} is not the range that was asked for.`)
  }
  return { bytes, content: readToEnd(Body, { name, bytes, continueAt }) }
}

interface Wanted {
  name: string
  bytes: number
  continueAt(offset: number): Promise<Readable>
}

/** Reads the content to its end. If a connection breaks, it continues behind what was read. */
async function* readToEnd(first: Readable, wanted: Wanted): AsyncGenerator<Buffer, void, void> {
  const { name, bytes, continueAt } = wanted
  let body = first
  let offset = 0
  for (let vain = 0; ; vain += 1) {
    let broken: unknown = null
    try {
      for await (const piece of withoutStalls(body)) {
        offset += piece.length
        vain = 0
        yield piece
      }
    } catch (error) {
      broken = error
    } finally {
      body.destroy()
    }
    if (offset === bytes) return
    if (offset > bytes || vain === VAIN_CONTINUATIONS_MAX) {
      throw new StorageUnavailable(
        'failing',
        `Reading from ${name} broke off at ${offset} of ${bytes} bytes.`,
        {
          cause: broken,
        },
      )
    }
    body = await continueAt(offset)
  }
}

/** A reader that is slow itself is no stall: only the wait for the next piece is bounded. */
async function* withoutStalls(body: Readable): AsyncGenerator<Buffer, void, void> {
  const pieces = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  for (;;) {
    const stalled = setTimeout(() => body.destroy(new Error('stalled')), STALL_SECONDS * 1000)
    const step = await pieces.next().finally(() => clearTimeout(stalled))
    if (step.done) return
    yield step.value
  }
}

/** Each page begins behind the last key of the one before, so that every store can list on. */
async function* listPages(calls: S3Calls, after: string): AsyncGenerator<ListedObject[], void, void> {
  const { sdk, bucket, prefix, send } = calls
  let last = `${prefix}${after}`
  for (;;) {
    const { Contents = [], IsTruncated } = await send(
      new sdk.ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        MaxKeys: PAGE_OBJECTS,
        ...(last === '' ? {} : { StartAfter: last }),
      }),
    )
    const end = Contents.at(-1)?.Key
    if (end === undefined) return
    if (end <= last)
      throw new StorageUnavailable('failing', `${calls.name} does not list its objects in order.`)
    last = end
    yield Contents.flatMap(({ Key = '', LastModified }) =>
      LastModified ? [{ key: Key.slice(prefix.length), modifiedAt: LastModified }] : [],
    )
    if (!IsTruncated) return
  }
}
