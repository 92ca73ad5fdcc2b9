import { sql } from 'kysely'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import { recordStatusOfHalves } from './halves/status.ts'
import type { AccountRow } from './row.ts'

/**
 * Records that a locked account was deleted, which ends its secrets, and when its purge is due at the latest. Of an account
 * that was deleted before, only that time changes.
 */
export async function recordAccountDeleted(
  unit: UnitOfWork,
  { id, deleted_at }: Pick<AccountRow, 'id' | 'deleted_at'>,
  { purgeInDays }: { purgeInDays: number },
): Promise<void> {
  const dueAt = sql<Date>`clock_timestamp() + make_interval(days => ${purgeInDays})`
  await unit.sql
    .updateTable('account')
    .set({
      deleted_at: sql`coalesce(deleted_at, clock_timestamp())`,
      purge_after: sql`least(purge_after, ${dueAt})`,
    })
    .where('id', '=', id)
    .execute()
  if (deleted_at) return
  await recordStatusOfHalves(unit, [id])
  await unit.sql.deleteFrom('account_secret').where('account_id', '=', id).execute()
}
