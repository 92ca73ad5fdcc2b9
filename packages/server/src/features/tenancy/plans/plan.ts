import type { Module } from '@waxwing/contract/operation.ts'

/** Limits of the tenants of a plan. Null means no limit. */
export interface PlanLimits {
  /** Requests per minute of the whole tenant. */
  apiCallsPerMinute: number | null
  /** Requests per minute of one credential. */
  apiCallsPerMinutePerKey: number | null
  /** Accounts of any status that are not deleted. */
  maxAccounts: number | null
  /** Whether `bodyStorage` may be anything but `none`. */
  bodyStorageAllowed: boolean
  /** Messages that may be queued on one day in UTC. */
  sendsPerDay: number | null
  /** Webhook endpoints, disabled ones included. */
  webhookEndpoints: number | null
  /** Maximum disk space for the stored bodies of the whole tenant. */
  storageBytes: number | null
  /** Modules that the plan includes besides mail; null for every module. */
  modules: readonly Module[] | null
}

/** Every module that a plan may include. */
export const MODULES: readonly Module[] = [
  'calendar',
  'contacts',
  'tracking',
  'ai',
  'meetings',
  'sharedMailboxes',
]

/** The limits of a tenant without a plan. */
export const NO_LIMITS: PlanLimits = {
  apiCallsPerMinute: null,
  apiCallsPerMinutePerKey: null,
  maxAccounts: null,
  bodyStorageAllowed: true,
  sendsPerDay: null,
  webhookEndpoints: null,
  storageBytes: null,
  modules: null,
}

export interface Plan {
  id: string
  name: string
  limits: PlanLimits
}
