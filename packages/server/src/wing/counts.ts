import type { Db } from '../database/pool.ts'

/** Counts something of a tenant as it is now. */
export type Count = (db: Db, tenantId: string) => Promise<number>

/** Counts of things that plans limit and later wings keep. Each is registered in the `wing.ts` of its wing. */
export interface Counts {
  /** Accounts that are not deleted, whatever their status. */
  accounts: Count
  /** Messages that were queued today in UTC. */
  sendsToday: Count
  /** Webhook endpoints, enabled or not. */
  webhookEndpoints: Count
}
