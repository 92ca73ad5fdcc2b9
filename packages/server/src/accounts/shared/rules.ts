import type { AccountView } from '../row.ts'

/** Why a shared mailbox cannot be opened with the grant of its delegate. */
export type DelegateReason = 'delegate_reauth_required' | 'delegate_deleted'

/** The state of an account as far as it concerns the shared mailboxes that its grant opens. */
export interface DelegateState {
  isDeleted: boolean
  /** Whether it has a grant that the provider has not refused. */
  isGranted: boolean
  needsGrant: boolean
  /** Whether the grant has the scopes for mailboxes of others. */
  hasScopes: boolean
}

/** Why the shared mailboxes of a delegate cannot be opened; null if they can. A pause of the delegate is no reason. */
export function delegateReason(state: DelegateState): DelegateReason | null {
  if (state.isDeleted) return 'delegate_deleted'
  const { isGranted, needsGrant, hasScopes } = state
  return isGranted && hasScopes && !needsGrant ? null : 'delegate_reauth_required'
}

/** Ids of the shared mailboxes of a delegate whose status changes. */
export interface Following {
  /** They were active. */
  stopped: string[]
  /** They stay stopped, for another reason. */
  renamed: string[]
  /** They become active again. */
  revived: string[]
}

/**
 * Decides how shared mailboxes follow their delegate. Paused and disabled ones are left alone. A new grant of the delegate
 * brings all back that wait for one, whatever the reason was.
 */
export function planFollowing(
  shared: ReadonlyArray<Pick<AccountView, 'id' | 'status' | 'status_reason'>>,
  reason: DelegateReason | null,
): Following {
  const waiting = shared.filter(({ status }) => status === 'reauth_required')
  const idsOf = (rows: ReadonlyArray<{ id: string }>) => rows.map(({ id }) => id)
  if (reason === null) return { stopped: [], renamed: [], revived: idsOf(waiting) }
  return {
    stopped: idsOf(shared.filter(({ status }) => status === 'active')),
    renamed: idsOf(waiting.filter(({ status_reason: known }) => known !== reason)),
    revived: [],
  }
}
