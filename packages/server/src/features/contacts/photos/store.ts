import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { blobKey, type BlobNames } from '../../../kit/blobs/blob-key.ts'
import type { BlobStore } from '../../../kit/blobs/blob-store.ts'
import { WRITE_HOURS_MAX } from '../../../kit/blobs/object-store.ts'
import { removeAll } from '../../../kit/blobs/remove-all.ts'
import { newId } from '../../../kit/ids.ts'
import { giveRoom, takeRoom } from '../../mail/content/stored-bytes.ts'
import { storageRoom } from '../../tenancy/plans/store.ts'
import type { RemotePhotoState } from '../../../providers/contacts.ts'

const BATCH_ROWS = 200

/** The row of a photo in the store of blobs. */
export interface PhotoRow extends BlobNames {
  contentType: string
  bytes: string
}

export interface PhotoOwner {
  tenantId: string
  accountId: string
  contactId: string
}

/** The stored photo of a contact, if it has this version. */
export async function findPhoto(db: Db, contactId: string, version: string): Promise<PhotoRow | null> {
  const { rows } = await sql<PhotoRow>`
    select id, tenant_id, account_id, content_type as "contentType", bytes from contact_photo
    where contact_id = ${contactId} and version = ${version} and bytes > 0
  `.execute(db)
  return rows[0] ?? null
}

/** Creates the row of a photo that is about to be written. Null if the plan stores nothing, or has no room for it. */
export async function beginPhoto(
  db: Db,
  { tenantId, accountId }: PhotoOwner,
  photo: { version: string; contentType: string; size: number },
): Promise<BlobNames | null> {
  const row = { id: newId(), tenant_id: tenantId, account_id: accountId }
  const { numAffectedRows = 0n } = await sql`
    insert into contact_photo (id, tenant_id, account_id, version, content_type)
    select ${row.id}, tenant.id, ${accountId}, ${photo.version}, ${photo.contentType}
    from tenant left join plan on plan.id = tenant.plan_id
    where tenant.id = ${tenantId} and coalesce(body_storage_allowed, true)
      and coalesce(${storageRoom(tenantId)} >= ${photo.size}, true)
  `.execute(db)
  return numAffectedRows > 0n ? row : null
}

/**
 * Makes a written object the photo of its contact, in place of an earlier one. Nothing happens if the contact is gone, or if
 * the plan has no room any more: the sweep then removes the object.
 */
export async function bindPhoto(
  db: Db,
  { tenantId, contactId }: PhotoOwner,
  { id }: BlobNames,
  bytes: number,
): Promise<void> {
  await db.transaction().execute(async tx => {
    const { rows: held } = await sql`select from contact where id = ${contactId} for key share`.execute(tx)
    if (held.length === 0) return
    await sql`update contact_photo set contact_id = null where contact_id = ${contactId}`.execute(tx)
    if (!(await takeRoom(tx, tenantId, bytes))) return
    await sql`
      update contact_photo set contact_id = ${contactId}, bytes = ${bytes} where id = ${id}
    `.execute(tx)
  })
}

/** Lets go of a photo whose object is lost. The sweep deletes the row. */
export async function releasePhoto(db: Db, { id }: BlobNames): Promise<void> {
  await sql`update contact_photo set contact_id = null where id = ${id}`.execute(db)
}

/** Stores what was found out about a photo of which the provider had not been asked. That is no event. */
export async function recordPhotoState(
  db: Db,
  { contactId }: PhotoOwner,
  contactVersion: string,
  photo: RemotePhotoState,
): Promise<void> {
  const version = photo.type === 'some' ? photo.version : null
  await sql`
    update contact set photo_state = ${photo.type}, photo_version = ${version}
    where id = ${contactId} and version = ${contactVersion} and photo_state = 'unknown'
  `.execute(db)
}

/** The ids of stored photos among these. */
export async function listOwnPhotos(db: Db, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from contact_photo where id = any(${[...ids]}::uuid[])
  `.execute(db)
  return rows.map(({ id }) => id)
}

/** Removes stored photos without a contact, and those whose contact has another photo by now. */
export async function sweepPhotos(db: Db, blobs: BlobStore, signal: AbortSignal): Promise<void> {
  await removePhotos(
    db,
    blobs,
    signal,
    sql`
    select id, tenant_id, account_id, bytes from contact_photo
    where contact_id is null
      and (bytes > 0 or created_at < clock_timestamp() - make_interval(hours => ${WRITE_HOURS_MAX}))
    order by created_at limit ${BATCH_ROWS}`,
  )
  await removePhotos(
    db,
    blobs,
    signal,
    sql`
    select photo.id, photo.tenant_id, photo.account_id, photo.bytes
    from contact_photo as photo join contact on contact.id = photo.contact_id
    where photo_state = 'none' or (photo_state = 'some' and photo_version <> photo.version) limit ${BATCH_ROWS}`,
  )
}

/** Removes the stored photos of an account. */
export function purgePhotos(db: Db, blobs: BlobStore, accountId: string, signal: AbortSignal): Promise<void> {
  return removePhotos(
    db,
    blobs,
    signal,
    sql`
    select id, tenant_id, account_id, bytes from contact_photo where account_id = ${accountId} limit ${BATCH_ROWS}`,
  )
}

type StoredRow = BlobNames & { bytes: string }

async function removePhotos(
  db: Db,
  blobs: BlobStore,
  signal: AbortSignal,
  batch: ReturnType<typeof sql<StoredRow>>,
): Promise<void> {
  while (!signal.aborted) {
    const { rows } = await batch.execute(db)
    if (rows.length === 0) return
    // Objects first: a row without its object is found again, an object without its row is not.
    await removeAll(blobs, rows.map(blobKey))
    await db.transaction().execute(async tx => {
      const { rows: gone } = await sql<Pick<StoredRow, 'tenant_id' | 'bytes'>>`
        delete from contact_photo
        using unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ bytes }) => bytes)}::bigint[]) as seen (id, bytes)
        where contact_photo.id = seen.id and contact_photo.bytes = seen.bytes
        returning contact_photo.tenant_id, contact_photo.bytes
      `.execute(tx)
      await giveRoom(tx, gone)
    })
  }
}
