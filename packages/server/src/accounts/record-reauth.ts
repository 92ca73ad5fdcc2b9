import { sql } from 'kysely'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import { announceReauthRequired } from './announce-reauth.ts'
import { spreadToShared } from './grants/spread.ts'
import { recordStatusOfHalves } from './halves/status.ts'
import type { AccountView } from './row.ts'

/** Stops an active, locked account that needs a new grant, and announces that once. Returns whether it was active. */
export async function recordReauthRequired(
  unit: UnitOfWork,
  account: AccountView,
  reason: string,
): Promise<boolean> {
  if (account.status !== 'active') return false
  await unit.sql
    .updateTable('account')
    .set({ status: 'reauth_required', status_reason: reason, updated_at: sql`clock_timestamp()` })
    .where('tenant_id', '=', unit.tenantId)
    .where('id', '=', account.id)
    .execute()
  await recordStatusOfHalves(unit, [account.id])
  await spreadToShared(unit, account.id)
  announceReauthRequired(unit, account, reason)
  return true
}
