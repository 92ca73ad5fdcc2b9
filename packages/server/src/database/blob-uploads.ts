import { sql } from 'kysely'
import { type UploadRecord } from '../kit/blobs/s3/s3-uploads.ts'
import { WRITE_HOURS_MAX } from '../kit/blobs/object-store.ts'
import type { Db } from './pool.ts'

/** Uploads that one statement of the sweep reads. */
const STALE_ROWS = 100

/** Keeps the uploads that have begun as rows. */
export function recordUploads(db: Db): UploadRecord {
  return {
    async begun({ key, uploadId }) {
      await sql`insert into blob_upload (upload_id, key) values (${uploadId}, ${key})`.execute(db)
    },
    async ended({ uploadId }) {
      await sql`delete from blob_upload where upload_id = ${uploadId}`.execute(db)
    },
    async listStale() {
      const { rows } = await sql<{ key: string; uploadId: string }>`
        select key, upload_id as "uploadId" from blob_upload
        where created_at < clock_timestamp() - make_interval(hours => ${WRITE_HOURS_MAX})
        order by created_at limit ${STALE_ROWS}
      `.execute(db)
      return rows
    },
  }
}
