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
  /** Messages that may be queued on one day in UTC. */
  sendsPerDay: number | null
  /** What the stored bodies of the whole tenant may take on the disk. */
  storageBytes: number | null
}

export interface Plan {
  id: string
  name: string
  limits: PlanLimits
}
