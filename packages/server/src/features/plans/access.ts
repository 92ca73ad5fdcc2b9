import type { Db } from '../../database/pool.ts'
import { countAccounts } from '../accounts/store.ts'
import { refuse } from '../refuse.ts'
import type { Plan } from './rules.ts'

/**
 * Refuses where the plan allows no more accounts. It decides only in the transaction that inserts the account, on the
 * plan of `lockTenantPlan`; before, it only spares the work.
 */
export async function requireAccountRoom(db: Db, tenantId: string, plan: Plan | null): Promise<void> {
  const maxAccounts = plan?.limits.maxAccounts ?? null
  if (maxAccounts === null) return
  if ((await countAccounts(db, tenantId)) >= maxAccounts) refuse('plan_limit_accounts')
}
