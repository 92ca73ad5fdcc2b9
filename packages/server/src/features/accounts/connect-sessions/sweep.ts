import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { deleteInBatches } from '../accounts/purge.ts'
import { KEPT_DAYS } from './store.ts'

/** Deletes the sessions that can no longer be read, with their attempts. */
export async function sweepSessions(db: Db, signal: AbortSignal): Promise<void> {
  await deleteInBatches(
    db,
    signal,
    rowsMax => sql`
      delete from connect_session where id = any(array(
        select id from connect_session where created_at <= clock_timestamp() - make_interval(days => ${KEPT_DAYS})
        limit ${rowsMax}))`,
  )
}
