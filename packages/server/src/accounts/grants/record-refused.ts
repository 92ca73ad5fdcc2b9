import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { inTransaction } from '../../events/unit-of-work.ts'
import { recordReauthRequired } from '../record-reauth.ts'
import { lockAccount } from '../store.ts'
import type { StoredGrant } from './store.ts'

/**
 * Records that the provider has ended a grant for certain: its account needs a new one. A grant that was renewed or
 * replaced since it was read is left alone: then it returns false.
 */
export async function recordRefused(
  db: Db,
  account: { id: string; tenantId: string },
  grant: Pick<StoredGrant, 'id' | 'version'>,
): Promise<boolean> {
  return inTransaction(db, account.tenantId, async unit => {
    const locked = await lockAccount(unit, account.id)
    if (!locked) return true
    const { numUpdatedRows } = await unit.sql
      .updateTable('oauth_grant')
      .set({
        refused_at: sql`coalesce(refused_at, clock_timestamp())`,
        refreshing_by: null,
        refreshing_until: null,
      })
      .where('id', '=', grant.id)
      .where('version', '=', grant.version)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    await recordReauthRequired(unit, locked, 'invalid_grant')
    return true
  })
}
