import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import { deleteHalves } from './halves/rows.ts'

/** The pause after a failure, which doubles with each further one. */
const RETRY_SECONDS = { min: 60, max: 21_600 }

/** Records that a purge has begun and is not complete: others that are due go first. */
export function recordPurgeInterrupted(db: Db, accountId: string): Promise<void> {
  return postponePurge(db, accountId, { seconds: sql`0`, failures: 0 })
}

/** Records that a purge has failed. It is tried again after a pause. */
export function recordPurgeFailed(db: Db, accountId: string): Promise<void> {
  const seconds = sql`least(${RETRY_SECONDS.min} * 2 ^ least(purge_failures, 20), ${RETRY_SECONDS.max})`
  return postponePurge(db, accountId, { seconds, failures: 1 })
}

async function postponePurge(
  db: Db,
  accountId: string,
  { seconds, failures }: { seconds: RawBuilder<unknown>; failures: number },
): Promise<void> {
  await sql`
    update account set purge_after = clock_timestamp() + make_interval(secs => ${seconds}),
      purge_failures = purge_failures + ${failures}
    where id = ${accountId} and purged_at is null
  `.execute(db)
}

/** Records that everything about an account except its id is gone. Returns false if that was recorded before. */
export async function recordPurged(unit: UnitOfWork, accountId: string): Promise<boolean> {
  const { numUpdatedRows } = await unit.sql
    .updateTable('account')
    .set({
      email: '',
      display_name: null,
      external_ref: null,
      subject: null,
      oauth_app_id: null,
      status_reason: null,
      settings_override: '{}',
      imap: null,
      // From now on, copies of its sealed values in backups of the database are unreadable.
      data_key: null,
      // A process that still holds the account can no longer write.
      owner_instance: null,
      owner_epoch: sql`owner_epoch + 1`,
      purged_at: sql`clock_timestamp()`,
      purge_failures: 0,
    })
    .where('id', '=', accountId)
    .where('purged_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await deleteHalves(unit, accountId)
  return true
}
