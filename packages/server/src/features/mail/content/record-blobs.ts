import { sql } from 'kysely'
import { DatabaseError } from 'pg'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { blobKey, type BlobNames } from '../../../kit/blobs/blob-key.ts'
import type { BlobStore } from '../../../kit/blobs/blob-store.ts'
import { WRITE_HOURS_MAX } from '../../../kit/blobs/object-store.ts'
import { removeAll } from '../../../kit/blobs/remove-all.ts'
import type { ReadBody } from '../../../kit/mime/message-reader.ts'
import { newId } from '../../../kit/ids.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { storageRoom } from '../../tenancy/plans/store.ts'
import { recordContents } from '../messages/record-contents.ts'
import { recordBodies, recordSnippets } from '../search/record.ts'
import { giveRoom, takeRoom } from './stored-bytes.ts'
import { beginOwnerWalk, listUnwantedOwners, type OwnerWalk } from './unwanted-owners.ts'

const BATCH_ROWS = 200

/** A file of the blob store. */
export interface BlobRow extends BlobNames {
  /** The stored size of the file; 0 until its message is bound to it. A row with a size belongs to a complete file. */
  bytes: string
}

/** Creates the row of a file that is about to be written. Null if the plan has no room for a message of this size. */
export async function beginBlob(db: Db, account: AccountRow, size: number): Promise<BlobRow | null> {
  const row = { id: newId(), tenant_id: account.tenant_id, account_id: account.id, bytes: '0' }
  const { numAffectedRows = 0n } = await sql`
    insert into message_blob (id, tenant_id, account_id)
    select ${row.id}, ${row.tenant_id}, ${row.account_id}
    where coalesce(${storageRoom(row.tenant_id)} >= ${size}, true)
  `.execute(db)
  return numAffectedRows > 0n ? row : null
}

/** Like `beginBlob`, for several files, without checking the plan. */
export async function beginBlobs(db: Db, account: AccountRow, count: number): Promise<BlobRow[]> {
  const { tenant_id, id: account_id } = account
  const rows = Array.from({ length: count }, () => ({ id: newId(), tenant_id, account_id, bytes: '0' }))
  await sql`
    insert into message_blob (id, tenant_id, account_id)
    select id, ${tenant_id}::uuid, ${account_id}::uuid from unnest(${rows.map(({ id }) => id)}::uuid[]) as new (id)
  `.execute(db)
  return rows
}

/** A written file and the result of reading it: null if it is too hard to read, undefined if it was not read. */
export interface WrittenBlob {
  row: BlobRow
  messageId: string
  bytes: number
  read: ReadBody | null | undefined
}

/**
 * Makes written files of one tenant the stored sources of their messages, and indexes their words, in one transaction.
 * If that fails, binds them one by one and without words. @returns the ids of the rows that are bound
 */
export async function bindBlobs(db: Db, files: readonly WrittenBlob[]): Promise<Set<string>> {
  const [first] = files
  if (!first) return new Set()
  try {
    return await inTransaction(db, first.row.tenant_id, async unit => {
      const tx = unit.sql
      await holdBlobs(
        tx,
        files.map(({ row }) => row.id),
      )
      const bound = await bindTogether(tx, files)
      const ids = new Set(bound.map(({ id }) => id))
      await recordRead(
        unit,
        files.filter(({ row }) => ids.has(row.id)),
      )
      const bytes = bound.reduce((sum, row) => sum + Number(row.bytes), 0)
      if (!(await takeRoom(tx, first.row.tenant_id, bytes))) throw new NotBound()
      return ids
    })
  } catch (error) {
    // A file that is refused must not keep others from being bound.
    if (!(error instanceof DatabaseError || error instanceof NotBound)) throw error
  }
  const ids = new Set<string>()
  for (const { row, messageId, bytes } of files)
    if (await bindBlob(db, row, messageId, bytes)) ids.add(row.id)
  return ids
}

async function recordRead(unit: UnitOfWork, files: readonly WrittenBlob[]): Promise<void> {
  const bodies = files.flatMap(({ row, read }) =>
    read === undefined ? [] : [{ blobId: row.id, words: read?.words ?? null }],
  )
  if (bodies.length > 0) await recordBodies(unit, bodies)
  const contents = files.flatMap(({ messageId, read }) => (read ? [{ messageId, facts: read.facts }] : []))
  if (contents.length > 0) await recordContents(unit, contents)
}

/** Always in this order, to avoid deadlocks. */
async function holdBlobs(tx: Db, ids: readonly string[]): Promise<void> {
  await sql`select from message_blob where id = any(${ids}::uuid[]) order by id for update`.execute(tx)
}

/** Does not wait for locks: a message that is being changed is left out. */
async function bindTogether(
  tx: Db,
  files: readonly WrittenBlob[],
): Promise<Array<{ id: string; bytes: string }>> {
  const { rows } = await sql<{ id: string; bytes: string }>`
    with written as (
      select * from unnest(
        ${files.map(({ row }) => row.id)}::uuid[],
        ${files.map(({ messageId }) => messageId)}::uuid[],
        ${files.map(({ bytes }) => bytes)}::bigint[]
      ) as written (id, message_id, bytes)
    ),
    held as (
      select id from message where id in (select message_id from written) for key share skip locked
    )
    update message_blob set message_id = written.message_id, bytes = written.bytes
    from written join held on held.id = written.message_id
    where message_blob.id = written.id
      and not exists (select from message_blob as other where other.message_id = written.message_id)
    returning message_blob.id, message_blob.bytes
  `.execute(tx)
  return rows
}

/**
 * Makes a written file the stored source of the message. False if the message or the row is gone, if another file was
 * first, or if the plan has no room for that many bytes.
 */
export async function bindBlob(db: Db, row: BlobRow, messageId: string, bytes: number): Promise<boolean> {
  try {
    await db.transaction().execute(async tx => {
      const { numUpdatedRows } = await tx
        .updateTable('message_blob')
        .set({ message_id: messageId, bytes })
        .where('id', '=', row.id)
        .executeTakeFirst()
      // Last, since everything that is stored for the tenant waits for its row.
      if (numUpdatedRows === 0n || !(await takeRoom(tx, row.tenant_id, bytes))) throw new NotBound()
    })
    return true
  } catch (error) {
    const isTaken = error instanceof DatabaseError && (error.code === '23503' || error.code === '23505')
    if (isTaken || error instanceof NotBound) return false
    throw error
  }
}

class NotBound extends Error {}

/** Corrects the size of a message whose server sends more than it announced, so that it is not stored in vain again. */
export async function recordSize(db: Db, messageId: string, bytes: number): Promise<true> {
  await sql`update message set size = ${bytes} where id = ${messageId} and size < ${bytes}`.execute(db)
  return true
}

/** Removes the stored source from its message, which is then found by its snippet again. The sweep deletes the file. */
export async function releaseBlob(db: Db, id: string): Promise<void> {
  await db.transaction().execute(async tx => {
    await recordSnippets({ sql: tx }, [id])
    await tx.updateTable('message_blob').set({ message_id: null }).where('id', '=', id).execute()
  })
}

/**
 * Deletes rows whose files are gone, and subtracts their sizes. Their messages are found by their snippets again. A row
 * that was bound in the meantime stays: its file may have been written after the check.
 */
export async function deleteBlobs(db: Db, rows: readonly BlobRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id)
  await db.transaction().execute(async tx => {
    await holdBlobs(tx, ids)
    await recordSnippets({ sql: tx }, ids)
    const { rows: gone } = await sql<Pick<BlobRow, 'tenant_id' | 'bytes'>>`
      delete from message_blob
      using unnest(${ids}::uuid[], ${rows.map(({ bytes }) => bytes)}::bigint[]) as seen (id, bytes)
      where message_blob.id = seen.id and message_blob.bytes = seen.bytes
      returning message_blob.tenant_id, message_blob.bytes
    `.execute(tx)
    await giveRoom(tx, gone)
  })
}

/** Removes stored content without a message, and the content of accounts whose `bodyStorage` became `none`. */
export async function sweepBlobs(
  db: Db,
  blobs: BlobStore,
  signal: AbortSignal,
  walk: OwnerWalk = beginOwnerWalk(),
): Promise<void> {
  await removeBlobs(
    db,
    blobs,
    signal,
    sql`
    select id, tenant_id, account_id, bytes from message_blob
    where message_id is null
      and (bytes > 0 or created_at < clock_timestamp() - make_interval(hours => ${WRITE_HOURS_MAX}))
    order by created_at limit ${BATCH_ROWS}`,
  )
  const unwanted = await listUnwantedOwners(db, walk)
  if (unwanted.length === 0) return
  await removeBlobs(
    db,
    blobs,
    signal,
    sql`
    select blob.id, blob.tenant_id, blob.account_id, blob.bytes
    from account join tenant on tenant.id = account.tenant_id
    join lateral (
      select * from message_blob where account_id = account.id and message_id is not null limit ${BATCH_ROWS}
    ) as blob on true
    where account.id = any(${unwanted}::uuid[])
      and coalesce(account.settings_override ->> 'bodyStorage', tenant.settings ->> 'bodyStorage') = 'none'
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
    select id, tenant_id, account_id, bytes from message_blob where account_id = ${accountId} limit ${BATCH_ROWS}`,
  )
}

async function removeBlobs(
  db: Db,
  blobs: BlobStore,
  signal: AbortSignal,
  batch: ReturnType<typeof sql<BlobRow>>,
): Promise<void> {
  while (!signal.aborted) {
    const { rows } = await batch.execute(db)
    if (rows.length === 0) return
    // Files first: a row without its file is found again, a file without its row is not.
    await removeAll(blobs, rows.map(blobKey))
    await deleteBlobs(db, rows)
  }
}
