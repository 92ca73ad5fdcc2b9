import type { Db } from '../database/pool.ts'
import type { Plan } from '../features/tenancy/plans/plan.ts'
import { findPlanByName } from '../features/tenancy/plans/store.ts'
import { CommandError } from './command-error.ts'

/** The plan of that name, or a refusal that says how to create it. */
export async function requirePlan(db: Db, name: string): Promise<Plan> {
  const plan = await findPlanByName(db, name)
  if (plan) return plan
  throw new CommandError(
    `There is no plan "${name}". See "waxwing plan list", or create it with "waxwing plan create".`,
  )
}
