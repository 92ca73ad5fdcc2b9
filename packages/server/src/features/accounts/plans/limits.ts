import type { AccountSettingsInput } from '@waxwing/contract/accounts/account-settings.ts'
import type { Db } from '../../../database/pool.ts'
import { countAccounts } from '../../../accounts/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type BodyStorageChange, storesMore } from '../settings/body-storage.ts'
import type { Plan } from '../../tenancy/plans/plan.ts'
import { isPastDue } from '../../tenancy/tenants/store.ts'
import { findModule, findStorageRoom, findTenantPlan } from '../../tenancy/plans/store.ts'

/** Refuses what a tenant whose payment is overdue may not do: send, and connect accounts. */
export async function requirePaid(db: Db, tenantId: string): Promise<void> {
  if (await isPastDue(db, tenantId)) refuse('billing_past_due')
}

/**
 * Refuses if the plan allows no more accounts. The decision counts only in the transaction that inserts the account,
 * with the plan of `lockTenantPlan`; an earlier call only saves work.
 */
export async function requireAccountRoom(db: Db, tenantId: string, plan: Plan | null): Promise<void> {
  const maxAccounts = plan?.limits.maxAccounts ?? null
  if (maxAccounts === null) return
  if ((await countAccounts(db, tenantId)) >= maxAccounts) refuse('plan_limit_accounts')
}

/**
 * Refuses a `bodyStorage` that the plan forbids, and one that stores more than `before` if the plan's storage is used
 * up.
 */
export async function requireBodyStorage(db: Db, tenantId: string, change: BodyStorageChange): Promise<void> {
  const { after } = change
  if (after === undefined || after === 'none') return
  const plan = await findTenantPlan(db, tenantId)
  if (!plan) return
  if (!plan.limits.bodyStorageAllowed) refuse('plan_limit_storage')
  if (!storesMore(change) || (await findStorageRoom(db, tenantId)) > 0) return
  refuse('plan_limit_storage', undefined, {
    message: `The plan's ${plan.limits.storageBytes} bytes of storage are used up. Set bodyStorage to none, or change the plan.`,
  })
}

/** Refuses settings that ask users for shared mailboxes if the plan does not include these. */
export async function requireSharedModule(
  db: Db,
  tenantId: string,
  settings: AccountSettingsInput | undefined,
): Promise<void> {
  if (settings?.sharedMailboxesEnabled && !(await findModule(db, tenantId, 'sharedMailboxes')))
    refuse('plan_module_unavailable')
}
