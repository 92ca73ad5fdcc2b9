import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { recordOperatorAction } from '../../tenancy/audit-log/record-rows.ts'
import type { Plan, PlanLimits } from '../../tenancy/plans/plan.ts'
import { holdTenantPlan, listTenantsOfPlan, updatePlan } from '../../tenancy/plans/store.ts'
import { lockTenantSettings } from '../../tenancy/settings/store.ts'
import { forbidAccountStorage, forbidTenantStorage } from './forbid-body-storage.ts'

/**
 * Changes limits of a plan, and writes a row to the audit log of each of its tenants. If the plan forbids storing bodies
 * afterwards, the settings of its tenants and their accounts follow, one tenant after the other; repeated, it goes on
 * with those that are left. A tenant that leaves the plan meanwhile keeps its settings.
 */
export async function changePlan(db: Db, id: string, limits: Partial<PlanLimits>): Promise<Plan> {
  const plan = await updatePlan(db, id, limits)
  for (const tenantId of await listTenantsOfPlan(db, id)) {
    await inTransaction(db, tenantId, async unit => {
      const before = await lockTenantSettings(unit)
      const planNow = await holdTenantPlan(unit)
      if (planNow?.id !== id) return
      if (!planNow.limits.bodyStorageAllowed) await forbidTenantStorage(unit, before)
      const targets = { tenantId, planId: id }
      await recordOperatorAction(unit.sql, { tenantId, action: 'plan.update', targets })
    })
    await forbidAccountStorage(db, tenantId, id)
  }
  return plan
}
