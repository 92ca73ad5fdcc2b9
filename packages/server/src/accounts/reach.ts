import type { HalfKind } from './halves/kind.ts'
import type { AccountRow, AccountView } from './row.ts'

/** What of an account says how it is reached. */
export type ReachedRow = Pick<AccountRow, 'id' | 'tenant_id' | 'stamp'>

/** The account as `connections` needs it. The version of a connection is the stamp of its half. */
export function reachedAs({ id, tenant_id, stamp }: ReachedRow): ReachedAccount {
  return { id, tenantId: tenant_id, version: stamp }
}

/** The stamp of a half: raised by each change of what the half is reached by. Null if the account has no such half. */
export function stampOf({ stamp, other_halves }: AccountView, kind: HalfKind): string | null {
  return kind === 'mail' ? stamp : (other_halves?.find(other => other.kind === kind)?.stamp ?? null)
}

/** An account as it is reached. A connection that was made under another `version` is not used. */
export interface ReachedAccount {
  id: string
  tenantId: string
  /** Changes with the account's servers and secrets. */
  version: string
}
