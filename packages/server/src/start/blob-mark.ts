import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import { countLive } from '../processes/list-instances.ts'
import { blobKey, type BlobNames } from '../kit/blobs/blob-key.ts'
import { ObjectMissing, type ObjectStore } from '../kit/blobs/object-store.ts'
import { isUuid } from '../kit/ids.ts'

/** The object that holds the id of `blob_mark`. No key of a blob looks like it. */
export const MARK_KEY = 'waxwing-installation'
const MARK_BYTES_MAX = 1000
/** Stored messages that are looked for in a store without a mark. */
const SAMPLE_BLOBS = 20

/** This store is not that of the installation. The message has the remedy. */
export class MarkRefused extends Error {
  override name = 'MarkRefused'
}

/** `ours`: the store holds the mark, or stored messages of this database. `empty`: it has neither. */
export type MarkFinding = 'ours' | 'another' | 'empty'

interface MarkRow {
  id: string
  isWritten: boolean
}

/**
 * Refuses a store that is not the one of this installation, and marks it if it is the first. The first one is marked
 * while no stored message is known, or if it has some of those that are known: they may be older than marks, or were
 * copied without it.
 * @param ownProcesses the live rows of `instance` that are the caller's own
 */
export async function requireMark(db: Db, objects: ObjectStore, ownProcesses: number): Promise<void> {
  if (await isKnown(db, objects)) return
  if (await db.transaction().execute(tx => compare(tx, objects, ownProcesses))) return
  // A process that dies here leaves a mark to be written, and the next one writes it.
  await db.transaction().execute(tx => compare(tx, objects, ownProcesses))
}

/** Whether the store is known to be marked. Asked for each missing object, so no row is held while the store answers. */
async function isKnown(db: Db, objects: ObjectStore): Promise<boolean> {
  const row = await findRow(db)
  return row !== null && row.isWritten && (await holdsMark(objects, row.id))
}

/** False if the installation has taken a new mark, to be written into this store. Others wait for its row meanwhile. */
async function compare(tx: Db, objects: ObjectStore, ownProcesses: number): Promise<boolean> {
  const row = await holdMark(tx)
  const found = await readMark(objects)
  if (found === row.id) {
    if (!row.isWritten) await setMark(tx, { id: row.id, isWritten: true })
    return true
  }
  if (!row.isWritten && (await hasSome(tx, objects))) {
    if (found === null) await writeMark(objects, row.id)
    await setMark(tx, { id: found ?? row.id, isWritten: true })
    return true
  }
  if (found !== null) throw refuseAnother(objects)
  if (await knowsBlobs(tx)) throw refuseEmpty(objects)
  if (!row.isWritten) {
    await writeMark(objects, row.id)
    await setMark(tx, { id: row.id, isWritten: true })
    return true
  }
  if ((await countLive(tx)) > ownProcesses) throw refuseEmpty(objects)
  // Nothing is stored and nobody else runs, so the installation may move here. Its former store gets no say any more.
  await setMark(tx, { id: randomUUID(), isWritten: false })
  return false
}

/** Compares without changing anything. */
export async function findMark(db: Db, objects: ObjectStore): Promise<MarkFinding> {
  const row = await findRow(db)
  const found = await readMark(objects)
  if (found !== null && found === row?.id) return 'ours'
  if (!row?.isWritten && (await hasSome(db, objects))) return 'ours'
  return found === null ? 'empty' : 'another'
}

/** Whether the store holds the mark with that id. */
export async function holdsMark(objects: ObjectStore, id: string): Promise<boolean> {
  return (await readMark(objects)) === id
}

/**
 * Makes a store without a mark the one of this installation. Its stored messages count as gone. It takes a new mark, so
 * that a copy of a database has no right to the store of the original any more.
 */
export async function acceptEmpty(db: Db, objects: ObjectStore): Promise<void> {
  await db.transaction().execute(async tx => {
    const { id } = await holdMark(tx)
    const found = await readMark(objects)
    if (found !== null && found !== id) throw refuseAnother(objects)
    await setMark(tx, { id: found ?? randomUUID(), isWritten: false })
  })
  await db.transaction().execute(async tx => {
    const { id } = await holdMark(tx)
    await writeMark(objects, id)
    await setMark(tx, { id, isWritten: true })
  })
}

/** Sets the mark to that id. @param isWritten whether a store is known to hold it */
export const RECORD_RESTORED_BLOBS = `
  update blob_mark set id = $1, is_written = $2, epoch = feed_epoch.epoch from feed_epoch
`

/**
 * The parameters of `RECORD_RESTORED_BLOBS` after a restore into a store, which keeps its mark. Without one the database
 * takes a new mark, so that a copy has no right to the store of the original.
 */
export async function markOfRestored(objects: ObjectStore): Promise<[id: string, isWritten: boolean]> {
  const found = await readMark(objects)
  return [found ?? randomUUID(), found !== null]
}

/**
 * For a restore that an operator declares: from now on objects that no row names may be removed. The store may be a copy
 * without the mark.
 */
export async function recordRestoredBlobs(db: Db, objects: ObjectStore): Promise<void> {
  const row = await findRow(db)
  const isWritten = row !== null && (await holdsMark(objects, row.id))
  await sql`update blob_mark set is_written = ${isWritten}, epoch = feed_epoch.epoch from feed_epoch`.execute(
    db,
  )
}

function refuseEmpty({ name }: ObjectStore): MarkRefused {
  return new MarkRefused(
    `There are stored messages, or other processes that store some, but ${name} is empty: it does not hold the mark of ` +
      'this installation. Every process must use the same folder or bucket. Mount or name the right one, with ' +
      'WAXWING_BLOB_DIR or WAXWING_S3_BUCKET; copy what is in the former one; or, if that is lost, stop every process ' +
      'and run "waxwing database restored --without-blobs": messages are then read from their providers again.',
  )
}

function refuseAnother({ name }: ObjectStore): MarkRefused {
  return new MarkRefused(
    `${capital(name)} holds the stored messages of another installation. Choose another with WAXWING_BLOB_DIR or ` +
      'WAXWING_S3_BUCKET, or another WAXWING_S3_PREFIX. If that installation is gone for good, delete what is there. If ' +
      'this database was restored, and no other one uses what is there, stop every process and run "waxwing database ' +
      'restored".',
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The id in the mark, or null if there is no mark, or one that was cut off. */
async function readMark(objects: ObjectStore): Promise<string | null> {
  let text = ''
  try {
    const { content } = await objects.open(MARK_KEY)
    for await (const piece of content) if (text.length < MARK_BYTES_MAX) text += piece.toString()
  } catch (error) {
    if (error instanceof ObjectMissing) return null
    throw error
  }
  const id = text.trim()
  return isUuid(id) ? id : null
}

async function writeMark(objects: ObjectStore, id: string): Promise<void> {
  await objects.put(MARK_KEY, Buffer.from(`${id}\n`), { isDurable: true })
}

/** A store may answer later than the database waits for the client of a transaction. */
const ANSWER_SECONDS_MAX = 60

async function findRow(db: Db): Promise<MarkRow | null> {
  const { rows } = await sql<MarkRow>`select id, is_written as "isWritten" from blob_mark`.execute(db)
  return rows[0] ?? null
}

async function holdMark(tx: Db): Promise<MarkRow> {
  await sql`select set_config('idle_in_transaction_session_timeout', ${`${ANSWER_SECONDS_MAX}s`}, true)`.execute(
    tx,
  )
  const { rows } = await sql<MarkRow>`
    select id, is_written as "isWritten" from blob_mark for update
  `.execute(tx)
  if (!rows[0]) throw new Error('The table blob_mark is empty')
  return rows[0]
}

async function setMark(tx: Db, { id, isWritten }: MarkRow): Promise<void> {
  await sql`update blob_mark set id = ${id}, is_written = ${isWritten}`.execute(tx)
}

/** Whether the database names stored messages. */
export async function knowsBlobs(db: Db): Promise<boolean> {
  return (await listNewest(db, 1)).length > 0
}

async function hasSome(db: Db, objects: ObjectStore): Promise<boolean> {
  for (const row of await listNewest(db, SAMPLE_BLOBS)) {
    try {
      const { content } = await objects.open(blobKey(row))
      for await (const _ of content) break
      return true
    } catch (error) {
      if (!(error instanceof ObjectMissing)) throw error
    }
  }
  return false
}

async function listNewest(db: Db, limit: number): Promise<BlobNames[]> {
  return db
    .selectFrom('message_blob')
    .select(['id', 'tenant_id', 'account_id'])
    .where('message_id', 'is not', null)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
