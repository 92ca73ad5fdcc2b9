import { sql } from 'kysely'
import type { UnitOfWork } from '../events/unit-of-work.ts'
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
  await recordStatusOfHalves(unit, account.id)
  const { email, provider, external_ref: externalRef } = account
  unit.announce({
    type: 'account.reauth_required',
    accountId: account.id,
    data: { email, provider, externalRef, reason },
  })
  return true
}
