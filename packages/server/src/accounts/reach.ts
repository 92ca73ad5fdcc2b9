import type { AccountRow } from './row.ts'

/** What of an account says how it is reached. */
export type ReachedRow = Pick<AccountRow, 'id' | 'tenant_id' | 'stamp'>

/** The account as `connections` needs it. The version of a connection is the stamp of its half. */
export function reachedAs({ id, tenant_id, stamp }: ReachedRow): ReachedAccount {
  return { id, tenantId: tenant_id, version: stamp }
}

/** An account as it is reached. A connection that was made under another `version` is not used. */
export interface ReachedAccount {
  id: string
  tenantId: string
  /** Changes with the account's servers and secrets. */
  version: string
}
