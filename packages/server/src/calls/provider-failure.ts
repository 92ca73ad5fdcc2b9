import type { Reason, ReasonData } from '@waxwing/contract/reasons.ts'
import { type FailureKind, ProviderFailure } from '../providers/failure.ts'
import { refuse } from './refuse.ts'

/** Reasons without data. */
type PlainReason = Exclude<Reason, keyof ReasonData>

/**
 * Kind of the request to the provider. `sign_in`: the caller named the servers and the login. `grant`: somebody
 * signed in by OAuth, or brought a refresh token. `read`: the account is stored here, and nothing of the request can
 * be to blame. `search`: a read in the caller's own words. `change`: the caller named the change.
 */
export type Asked = 'sign_in' | 'grant' | 'read' | 'search' | 'change'

/** The reason for each kind of failure, either always the same or by the kind of request. */
const REASONS: Readonly<Record<FailureKind, PlainReason | Readonly<Record<Asked, PlainReason>>>> = {
  login_failed: by('login_failed', 'account_reauth_required'),
  grant_refused: by('invalid_grant', 'account_reauth_required'),
  access_refused: by('access_token_rejected', 'provider_unavailable'),
  scope_missing: by('scope_missing', 'provider_forbidden', { change: 'scope_missing' }),
  misconfigured: by('account_misconfigured', 'account_misconfigured', { grant: 'invalid_client' }),
  not_allowed: by('server_not_allowed', 'account_misconfigured', { grant: 'provider_unavailable' }),
  mailbox_gone: by('provider_not_found', 'account_disabled', { grant: 'provider_forbidden' }),
  account_deleted: 'account_not_found',
  throttled: 'provider_throttled',
  unavailable: 'provider_unavailable',
  forbidden: 'provider_forbidden',
  // A search skips mailboxes that are gone.
  not_found: by('provider_not_found', 'provider_not_found', {
    search: 'provider_unavailable',
    grant: 'provider_forbidden',
  }),
  rejected: by('provider_rejected', 'provider_unavailable', {
    search: 'provider_rejected',
    change: 'provider_rejected',
    grant: 'token_exchange_failed',
  }),
  conflict: by('provider_conflict', 'provider_unavailable', {
    change: 'provider_conflict',
    grant: 'token_exchange_failed',
  }),
  unsupported: by('provider_unsupported', 'account_misconfigured', {
    search: 'provider_unsupported',
    change: 'provider_unsupported',
    grant: 'token_exchange_failed',
  }),
}

/** Searches and changes are answered like reads, and grants like logins, except for `others`. */
function by(
  signIn: PlainReason,
  read: PlainReason,
  others: Partial<Record<Asked, PlainReason>> = {},
): Record<Asked, PlainReason> {
  return { sign_in: signIn, grant: signIn, read, search: read, change: read, ...others }
}

/** The reason with which a request is refused for a failure of this kind. */
export function reasonOf(kind: FailureKind, asked: Asked): PlainReason {
  const reason = REASONS[kind]
  return typeof reason === 'string' ? reason : reason[asked]
}

/** The reason with which a sign-in ends. The failure itself may have a more exact reason than its kind. */
export function reasonOfGrant({ kind, reason }: Pick<ProviderFailure, 'kind' | 'reason'>): PlainReason {
  return (kind === 'misconfigured' || kind === 'scope_missing' ? reason : null) ?? reasonOf(kind, 'grant')
}

/** The failure's own reason where it is more exact than its kind; null if its kind decides. */
function exactReason(error: ProviderFailure, asked: Asked): PlainReason | null {
  if (asked === 'grant') return reasonOfGrant(error)
  if (asked !== 'sign_in') return null
  const { reason } = error
  return reason === 'not_dav_server' || reason === 'dav_discovery_failed' || reason === 'dav_unsupported'
    ? reason
    : null
}

/**
 * Refuses with the reason of a provider's failure. Problems of the account get our own message, all others the
 * provider's. Any other error is rethrown.
 */
export function refuseFailure(error: unknown, asked: Asked): never {
  if (!(error instanceof ProviderFailure)) throw error
  const reason = exactReason(error, asked) ?? reasonOf(error.kind, asked)
  refuse(reason, undefined, {
    ...(!reason.startsWith('account_') && { message: error.message }),
    retryAfterSeconds: error.retryAfterSeconds ?? undefined,
    cause: error,
  })
}
