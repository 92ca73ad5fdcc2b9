import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { idOfKey } from '../../../kit/blobs/blob-key.ts'
import type { BlobStore } from '../../../kit/blobs/blob-store.ts'
import type { ListedObject } from '../../../kit/blobs/object-store.ts'
import { removeAll } from '../../../kit/blobs/remove-all.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { Logger } from '../../../kit/log.ts'
import type { OwnedBlobs } from '../../../wing/owned-blobs.ts'

/**
 * Objects of this age have a row, or will never have one: it is written before the object, and is removed after it. Much
 * longer than a write takes, for clocks that differ, and for an operator who notices that the wrong database runs.
 */
const GRACE_HOURS = 48
/** Pages of one run. The next one continues behind them. */
const PAGES_PER_RUN = 50

/**
 * Removes objects that no wing owns: a restored database does not know those that were written after its backup. It never
 * changes a row. It waits while a restore has been noticed that no operator has declared: the database may be a copy
 * beside the real one.
 */
export async function sweepOrphans(
  {
    db,
    blobs,
    ownedBlobs,
    clock,
    log,
  }: { db: Db; blobs: BlobStore; ownedBlobs: readonly OwnedBlobs[]; clock: Clock; log: Logger },
  signal: AbortSignal,
): Promise<void> {
  let reached = await findReached(db)
  if (reached === null) {
    log.warn(
      'Stored messages without a row are kept: the database was restored, moved or failed over. If it is the only one ' +
        'that uses them, run "waxwing database restored"',
    )
    return
  }
  let pages = 0
  let removed = 0
  for await (const page of blobs.list(reached)) {
    const orphans = await listOrphans(ownedBlobs, page, clock.now())
    await removeAll(blobs, orphans)
    removed += orphans.length
    reached = page.at(-1)?.key ?? reached
    pages += 1
    if (pages === PAGES_PER_RUN || signal.aborted) break
  }
  const isAtEnd = pages < PAGES_PER_RUN && !signal.aborted
  await sql`update blob_sweep set reached = ${isAtEnd ? '' : reached}`.execute(db)
  if (removed > 0) log.info({ count: removed }, 'Removed stored messages that no row names')
}

/** The key up to which the last run came, or null if the rows may not name all objects. */
async function findReached(db: Db): Promise<string | null> {
  const { rows } = await sql<{ reached: string }>`
    select reached from blob_sweep, blob_mark join feed_epoch on feed_epoch.epoch = blob_mark.epoch
  `.execute(db)
  return rows[0]?.reached ?? null
}

/** The ids of stored messages among these. */
export async function listOwnBlobs(db: Db, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from message_blob where id = any(${[...ids]}::uuid[])
  `.execute(db)
  return rows.map(({ id }) => id)
}

async function listOrphans(
  ownedBlobs: readonly OwnedBlobs[],
  page: readonly ListedObject[],
  now: number,
): Promise<string[]> {
  const oldest = now - GRACE_HOURS * 3_600_000
  const keys = new Map(
    page.flatMap(({ key, modifiedAt }) => {
      const id = modifiedAt.getTime() < oldest ? idOfKey(key) : null
      return id === null ? [] : [[id, key] as const]
    }),
  )
  for (const listOwned of ownedBlobs) {
    if (keys.size === 0) return []
    for (const id of await listOwned([...keys.keys()])) keys.delete(id)
  }
  return [...keys.values()]
}
