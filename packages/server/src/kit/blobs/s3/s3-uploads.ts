import { ObjectMissing, type ObjectWriter, StorageUnavailable } from '../object-store.ts'
import type { S3Calls } from './s3-calls.ts'

/**
 * Larger objects are uploaded in parts of this size, the smallest that S3 accepts; only the last one differs, since some
 * stores refuse parts of different sizes. A writer keeps two of them in memory: one is filled while the other is uploaded.
 */
export const PART_BYTES = 5 * 1024 * 1024

/** An upload in parts that has begun. */
export interface Upload {
  key: string
  uploadId: string
}

/** Remembers uploads, so that those of a process that died are found: not every store can list them. */
export interface UploadRecord {
  begun(upload: Upload): Promise<void>
  ended(upload: Upload): Promise<void>
  /** Some that are older than any write takes. */
  listStale(): Promise<Upload[]>
}

/** For commands, which abort their uploads themselves. */
export const unrecorded: UploadRecord = {
  begun: async () => {},
  ended: async () => {},
  listStale: async () => [],
}

/** Writes an object by one request if it is small, otherwise in parts. */
export function createS3Writer(calls: S3Calls, uploads: UploadRecord, key: string): ObjectWriter {
  const { sdk, at, send } = calls
  const parts: Array<{ PartNumber: number; ETag: string }> = []
  let upload: Upload | null = null
  let frames: Buffer[] = []
  let bytes = 0
  let uploading: Promise<void> = Promise.resolve()

  /** Takes the content of a part, and keeps what is behind it. */
  function takeContent(): Buffer {
    const content = Buffer.concat(frames)
    const rest = content.subarray(PART_BYTES)
    frames = rest.length > 0 ? [Buffer.from(rest)] : []
    bytes = rest.length
    return content.subarray(0, PART_BYTES)
  }
  async function begin(): Promise<Upload> {
    const { UploadId } = await send(new sdk.CreateMultipartUploadCommand(at(key)))
    if (!UploadId) throw new StorageUnavailable('failing', `${calls.name} began no upload.`)
    const begun = { key, uploadId: UploadId }
    // Before the first part, so that no part is without a row.
    await uploads.begun(begun)
    return begun
  }
  async function uploadPart({ uploadId }: Upload, PartNumber: number, Body: Buffer) {
    const { ETag } = await send(
      new sdk.UploadPartCommand({
        ...at(key),
        UploadId: uploadId,
        PartNumber,
        Body,
        ContentLength: Body.length,
      }),
    )
    if (!ETag) throw new StorageUnavailable('failing', `${calls.name} did not confirm a part.`)
    parts.push({ PartNumber, ETag })
  }
  /** Waits for the part before, not for this one. */
  async function startPart() {
    await uploading
    upload ??= await begin()
    uploading = uploadPart(upload, parts.length + 1, takeContent())
    // The next write gets the error.
    uploading.catch(() => undefined)
  }

  return {
    async write(frame) {
      frames.push(frame)
      bytes += frame.length
      for (let left = bytes; left >= PART_BYTES; left -= PART_BYTES) await startPart()
    },
    async commit() {
      if (!upload) {
        const content = takeContent()
        await send(new sdk.PutObjectCommand({ ...at(key), Body: content, ContentLength: content.length }))
        return
      }
      if (bytes > 0) await startPart()
      await uploading
      await send(
        new sdk.CompleteMultipartUploadCommand({
          ...at(key),
          UploadId: upload.uploadId,
          MultipartUpload: { Parts: parts },
        }),
      )
      await uploads.ended(upload)
    },
    async abort() {
      await uploading.catch(() => undefined)
      if (upload) await abortUpload(calls, uploads, upload)
      frames = []
    },
  }
}

/** Aborts uploads whose process has died. Stops at the first that the store does not abort now. */
export async function sweepUploads(
  calls: S3Calls,
  uploads: UploadRecord,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const stale = await uploads.listStale()
    if (stale.length === 0) return
    for (const upload of stale) await abortUpload(calls, uploads, upload)
  }
}

async function abortUpload({ sdk, at, send }: S3Calls, uploads: UploadRecord, upload: Upload): Promise<void> {
  try {
    await send(new sdk.AbortMultipartUploadCommand({ ...at(upload.key), UploadId: upload.uploadId }))
  } catch (error) {
    // An upload that has ended meanwhile.
    if (!(error instanceof ObjectMissing)) throw error
  }
  await uploads.ended(upload)
}
