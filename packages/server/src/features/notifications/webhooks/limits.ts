import type { Db } from '../../../database/pool.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Plan } from '../../tenancy/plans/plan.ts'
import { countEndpoints } from './store.ts'

/** Endpoints of a tenant whose plan has no number of its own: the list answers whole. */
const ENDPOINTS_MAX = 1000

/**
 * Refuses if the plan allows no more endpoints; disabled ones count. The decision counts only in the transaction that
 * inserts the endpoint, with the plan of `lockTenantPlan`; an earlier call only saves work.
 */
export async function requireEndpointRoom(db: Db, tenantId: string, plan: Plan | null): Promise<void> {
  const max = plan?.limits.webhookEndpoints ?? ENDPOINTS_MAX
  if ((await countEndpoints(db, tenantId)) >= max) refuse('plan_limit_webhooks')
}
