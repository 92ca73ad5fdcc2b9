import type { UsageReport } from '@waxwing/contract/tenancy/usage.ts'
import { MODULES, NO_LIMITS, type Plan } from '../plans/plan.ts'
import type { UsageRow } from './store.ts'

/** @param plan null: the tenant has none */
export function presentUsage(
  plan: Plan | null,
  days: readonly UsageRow[],
  current: UsageReport['current'],
): UsageReport {
  const { modules, ...limits } = plan?.limits ?? NO_LIMITS
  return {
    plan: {
      id: plan?.id ?? null,
      name: plan?.name ?? 'Platform defaults',
      limits: { ...limits, modules: [...(modules ?? MODULES)], included: null, pricing: null },
    },
    current,
    days: days.map(presentDay),
  }
}

function presentDay(row: UsageRow): UsageReport['days'][number] {
  const { date, read, write, send, admin } = row
  return {
    date,
    liveAccounts: row.live_accounts,
    apiCalls: { read, write, send, admin },
    sends: row.sends,
    webhookDeliveries: row.webhook_deliveries,
    aiCalls: row.ai_calls,
    storedBytes: row.stored_bytes,
  }
}
