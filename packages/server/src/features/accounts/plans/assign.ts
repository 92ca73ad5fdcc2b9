import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { recordOperatorAction } from '../../tenancy/audit-log/record-rows.ts'
import type { Plan } from '../../tenancy/plans/plan.ts'
import { holdTenantPlan, updateTenantPlan } from '../../tenancy/plans/store.ts'
import { lockTenantSettings } from '../../tenancy/settings/store.ts'
import { forbidAccountStorage, forbidTenantStorage } from './forbid-body-storage.ts'

/**
 * Assigns a plan to a tenant, or removes it if null. If the plan forbids storing bodies, the setting of the tenant and
 * of its accounts becomes `none`, announced like any change of settings; repeated, it goes on with the accounts that are
 * left. Accounts beyond `maxAccounts` stay. Only the operator assigns plans.
 */
export async function assignPlan(db: Db, tenantId: string, plan: Plan | null): Promise<void> {
  await inTransaction(db, tenantId, async unit => {
    const before = await lockTenantSettings(unit)
    await updateTenantPlan(unit, plan?.id ?? null)
    // Its limits may have changed since it was read.
    const planNow = await holdTenantPlan(unit)
    if (planNow && !planNow.limits.bodyStorageAllowed) await forbidTenantStorage(unit, before)
    const targets = { tenantId, ...(plan && { planId: plan.id }) }
    await recordOperatorAction(unit.sql, { tenantId, action: 'plan.assign', targets })
  })
  if (plan) await forbidAccountStorage(db, tenantId, plan.id)
}
