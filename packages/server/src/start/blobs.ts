import type { Config } from '../config.ts'
import { recordUploads } from '../database/blob-uploads.ts'
import type { Db } from '../database/pool.ts'
import { type BlobStore, openBlobStore } from '../kit/blobs/blob-store.ts'
import { openFolderObjects } from '../kit/blobs/folder-objects.ts'
import { guardObjects } from '../kit/blobs/guarded-objects.ts'
import { type ObjectStore, StorageUnavailable } from '../kit/blobs/object-store.ts'
import { openS3Objects } from '../kit/blobs/s3/s3-objects.ts'
import { type UploadRecord, unrecorded } from '../kit/blobs/s3/s3-uploads.ts'
import type { Logger } from '../kit/log.ts'
import { MarkRefused, requireMark } from './blob-mark.ts'

export type BlobConfig = Pick<
  Config,
  | 'blobDir'
  | 's3Bucket'
  | 's3Endpoint'
  | 's3Region'
  | 's3AccessKeyId'
  | 's3SecretAccessKey'
  | 's3Prefix'
  | 's3PathStyle'
  | 'certificateAuthorities'
>

/** Opens the folder or the bucket that the settings name. */
export async function openObjects(
  config: BlobConfig,
  uploads: UploadRecord = unrecorded,
): Promise<ObjectStore> {
  const { s3Bucket, s3Endpoint, s3AccessKeyId, s3SecretAccessKey } = config
  if (s3Bucket === null) return openFolderObjects(config.blobDir)
  const settings = {
    bucket: s3Bucket,
    endpoint: s3Endpoint,
    region: config.s3Region,
    credentials:
      s3AccessKeyId !== null && s3SecretAccessKey !== null
        ? { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey }
        : null,
    prefix: config.s3Prefix,
    // Host names of buckets need a wildcard name, which few stores but AWS have.
    isPathStyle: config.s3PathStyle ?? s3Endpoint !== null,
    authorities: config.certificateAuthorities,
  }
  return openS3Objects(settings, uploads)
}

/**
 * Opens the store of blobs for a process. Rejects if the settings are wrong or name the store of another installation.
 * A store that does not work now is left out until it does: messages are read from their providers meanwhile.
 */
export async function openBlobs(
  config: BlobConfig,
  { db, log }: { db: Db; log: Logger },
): Promise<BlobStore> {
  const objects = await openObjects(config, recordUploads(db))
  // The process itself has a row of `instance` by now.
  const guarded = guardObjects(objects, () => requireMark(db, objects, 1))
  try {
    await guarded.ensure()
  } catch (error) {
    const isWrong =
      error instanceof MarkRefused || (error instanceof StorageUnavailable && error.trouble === 'refused')
    if (isWrong) throw error
    log.warn(
      { error },
      'Stored messages cannot be used now, and none are stored. Messages are read from their providers meanwhile',
    )
  }
  return openBlobStore(guarded)
}
