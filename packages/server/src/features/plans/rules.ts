import type { TenantSettings } from '@waxwing/contract/settings.ts'
import { refuse } from '../refuse.ts'

/** What the tenants under a plan may use; null: no limit. */
export interface PlanLimits {
  /** Requests of the whole tenant in one minute. */
  apiCallsPerMinute: number | null
  /** Requests of one credential in one minute. */
  apiCallsPerMinutePerKey: number | null
  /** Accounts that are not deleted, whatever their status. */
  maxAccounts: number | null
  /** Whether `bodyStorage` may be anything but `none`. */
  bodyStorageAllowed: boolean
  /** Octets of stored bodies of the whole tenant. */
  storageBytes: number | null
}

export interface Plan {
  id: string
  name: string
  limits: PlanLimits
}

/** Refuses to store bodies where the plan does not allow it. A tenant without a plan may store. */
export function requireBodyStorage(
  plan: Plan | null,
  bodyStorage: TenantSettings['bodyStorage'] | undefined,
): void {
  if (bodyStorage === undefined || bodyStorage === 'none') return
  if (plan && !plan.limits.bodyStorageAllowed) refuse('plan_limit_storage')
}
