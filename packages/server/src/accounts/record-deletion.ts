import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import { deleteHalves } from './halves/rows.ts'
import { recordStatusOfHalves } from './halves/status.ts'
import type { AccountRow } from './row.ts'

/**
 * Deletes a locked account with its secrets, and ends the following of its halves. A second deletion only makes its
 * purge due earlier.
 */
export async function recordDeleted(
  unit: UnitOfWork,
  account: Pick<AccountRow, 'id' | 'deleted_at'>,
  purgeInDays: number,
): Promise<void> {
  const dueAt = sql<Date>`clock_timestamp() + make_interval(days => ${purgeInDays})`
  await unit.sql
    .updateTable('account')
    .set({
      deleted_at: sql`coalesce(deleted_at, clock_timestamp())`,
      purge_after: sql`least(purge_after, ${dueAt})`,
    })
    .where('id', '=', account.id)
    .execute()
  if (account.deleted_at) return
  await recordStatusOfHalves(unit, account.id)
  await unit.sql.deleteFrom('account_secret').where('account_id', '=', account.id).execute()
}

/** Makes the purge of a deleted account due later. `failures` are counted in addition. */
export async function postponePurge(
  db: Db,
  accountId: string,
  seconds: RawBuilder<unknown>,
  failures: number,
): Promise<void> {
  await sql`
    update account set purge_after = clock_timestamp() + make_interval(secs => ${seconds}),
      purge_failures = purge_failures + ${failures}
    where id = ${accountId} and purged_at is null
  `.execute(db)
}

/** Empties the row of a deleted account but for its id, and deletes its halves. Returns false if that was done before. */
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
