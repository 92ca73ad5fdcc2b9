import type { HalfKind } from './halves/kind.ts'
import type { AccountRow, AccountView } from './row.ts'

/** What of an account says how it is reached. */
export type ReachedRow = Pick<AccountRow, 'id' | 'tenant_id' | 'provider' | 'stamp'>

/** The account as `connections` needs it to reach its mail. */
export function reachedAs({ id, tenant_id, provider, stamp }: ReachedRow): ReachedAccount {
  return { id, tenantId: tenant_id, provider, kind: 'mail', version: stamp }
}

/** The account as `connections` needs it to reach another kind of its data. Null if it has no such half. */
export function reachedHalf(account: AccountView, kind: HalfKind): ReachedAccount | null {
  const version = stampOf(account, kind)
  return version === null
    ? null
    : { id: account.id, tenantId: account.tenant_id, provider: account.provider, kind, version }
}

/** The stamp of a half: raised by each change of what the half is reached by. Null if the account has no such half. */
export function stampOf({ stamp, other_halves }: AccountView, kind: HalfKind): string | null {
  return kind === 'mail' ? stamp : (other_halves?.find(other => other.kind === kind)?.stamp ?? null)
}

/** An account as one kind of its data is reached. A connection that was made under another `version` is not used. */
export interface ReachedAccount {
  id: string
  tenantId: string
  provider: AccountRow['provider']
  kind: HalfKind
  /** The stamp of the half, which changes with what the half is reached by. */
  version: string
}
