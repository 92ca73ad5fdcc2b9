import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { type UnitOfWork, inTransaction } from '../../../events/unit-of-work.ts'
import { accountViews, inheritSettings, updateAccount } from '../accounts/store.ts'
import { lockTenantSettings, updateTenantSettings } from '../../tenancy/settings/store.ts'
import type { Plan } from '../../tenancy/plans/plan.ts'
import { updateTenantPlan } from '../../tenancy/plans/store.ts'

/**
 * Assigns a plan to a tenant, or removes it if null. If the plan forbids storing bodies, the setting of the tenant and
 * of its accounts becomes `none`, announced like any change of settings. Accounts beyond `maxAccounts` stay.
 */
export async function assignPlan(db: Db, tenantId: string, plan: Plan | null): Promise<void> {
  await inTransaction(db, tenantId, async unit => {
    const before = await lockTenantSettings(unit)
    await updateTenantPlan(unit, plan?.id ?? null)
    if (plan && !plan.limits.bodyStorageAllowed) await forbidBodyStorage(unit, before)
  })
}

async function forbidBodyStorage(unit: UnitOfWork, before: TenantSettings): Promise<void> {
  const overriding = await accountViews(unit.sql, unit.tenantId)
    .where(sql<boolean>`account.settings_override->>'bodyStorage' <> 'none'`)
    .orderBy('account.id')
    .execute()
  for (const account of overriding) {
    const settings_override = { ...account.settings_override, bodyStorage: 'none' as const }
    await updateAccount(unit, account, { settings_override })
  }
  if (before.bodyStorage === 'none') return
  const after: TenantSettings = { ...before, bodyStorage: 'none' }
  await updateTenantSettings(unit, after)
  await inheritSettings(unit, before, after)
}
