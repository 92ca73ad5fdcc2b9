import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import type { BlobStore } from '../../kit/blobs/blob-store.ts'
import { blobKey } from './stored-source.ts'

const BATCH_ROWS = 200
/** Nobody writes one file for so long. */
const WRITE_HOURS_MAX = 1

/** Removes stored content that no message has any more, and that of accounts whose `bodyStorage` became `none`. */
export async function sweepBlobs(db: Db, blobs: BlobStore, signal: AbortSignal): Promise<void> {
  await removeBlobs(
    db,
    blobs,
    signal,
    sql`
    select id, tenant_id, account_id from message_blob
    where message_id is null and created_at < clock_timestamp() - make_interval(hours => ${WRITE_HOURS_MAX})
    order by created_at limit ${BATCH_ROWS}`,
  )
  await removeBlobs(
    db,
    blobs,
    signal,
    sql`
    select blob.id, blob.tenant_id, blob.account_id
    from account join tenant on tenant.id = account.tenant_id
    join lateral (
      select * from message_blob where account_id = account.id and message_id is not null limit ${BATCH_ROWS}
    ) as blob on true
    where coalesce(account.settings_override ->> 'bodyStorage', tenant.settings ->> 'bodyStorage') = 'none'
    limit ${BATCH_ROWS}`,
  )
}

/** Removes the stored content of an account. */
export function purgeBlobs(db: Db, blobs: BlobStore, accountId: string, signal: AbortSignal): Promise<void> {
  return removeBlobs(
    db,
    blobs,
    signal,
    sql`
    select id, tenant_id, account_id from message_blob where account_id = ${accountId} limit ${BATCH_ROWS}`,
  )
}

async function removeBlobs(
  db: Db,
  blobs: BlobStore,
  signal: AbortSignal,
  batch: ReturnType<typeof sql<{ id: string; tenant_id: string; account_id: string }>>,
): Promise<void> {
  while (!signal.aborted) {
    const { rows } = await batch.execute(db)
    if (rows.length === 0) return
    // The files first: a row without its file is found again, a file without its row is not.
    await Promise.all(rows.map(row => blobs.remove(blobKey(row))))
    await sql`delete from message_blob where id = any(${rows.map(({ id }) => id)}::uuid[])`.execute(db)
  }
}
