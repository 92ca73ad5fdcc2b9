import { implement } from '@orpc/server'
import { usage } from '@waxwing/contract/tenancy/usage.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findStoredBytes, findTenantPlan } from '../plans/store.ts'
import type { Counts } from '../../../wing/counts.ts'
import { presentUsage } from './present.ts'
import { planRange } from './rules.ts'
import { findToday, KEPT_DAYS, listUsageDays } from './store.ts'

const on = implement(usage).$context<RequestContext>()

/** @param counts the counts of later wings, which are open by the time of the first call */
export function usageOperations(counts: () => Counts) {
  return {
    get: on.get.handler(async ({ input: { query }, context: { db, tenantId } }) => {
      const range = planRange(query, { today: await findToday(db), keptDays: KEPT_DAYS })
      if (range === 'invalid') return refuse('invalid_range')
      const { accounts, webhookEndpoints, sendsToday } = counts()
      const [plan, days, ...current] = await Promise.all([
        findTenantPlan(db, tenantId),
        range ? listUsageDays(db, tenantId, range) : [],
        accounts(db, tenantId),
        webhookEndpoints(db, tenantId),
        sendsToday(db, tenantId),
        findStoredBytes(db, tenantId),
      ])
      return presentUsage(plan, days, {
        accounts: current[0],
        webhookEndpoints: current[1],
        sendsToday: current[2],
        storedBytes: current[3],
      })
    }),
  }
}
