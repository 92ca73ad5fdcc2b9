import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'

const BATCH_ROWS = 5000

/** Deletes the entries of lists that were deleted, then their rows. */
export async function sweepLists(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { rows } = await sql<{ key: string }>`
      select key from suppression_list where deleted_at is not null order by deleted_at limit 1
    `.execute(db)
    if (!rows[0]) return
    await sweepList(db, rows[0].key, signal)
  }
}

async function sweepList(db: Db, key: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await sql`
      delete from suppression_entry where list_key = ${key} and address in (
        select address from suppression_entry where list_key = ${key} limit ${BATCH_ROWS}
      )
    `.execute(db)
    if (numAffectedRows >= BATCH_ROWS) continue
    // Every writer of entries holds the list, so there are no later ones.
    await sql`delete from suppression_list where key = ${key} and deleted_at is not null`.execute(db)
    return
  }
}
