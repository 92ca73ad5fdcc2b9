import type { Reason, ReasonData } from '@waxwing/contract/reasons.ts'
import { type FailureKind, ProviderFailure } from '../providers/failure.ts'
import { refuse } from './refuse.ts'

/** Reasons without data. */
type PlainReason = Exclude<Reason, keyof ReasonData>

/**
 * What was asked of the provider. `sign_in`: the caller named the servers and the login. `read`: the account is known
 * here, and nothing of the request can be to blame. `search`: a read in the caller's own words. `change`: what is to be
 * changed is the caller's.
 */
export type Asked = 'sign_in' | 'read' | 'search' | 'change'

/** The reason for each kind of failure, either always the same or by the kind of request. */
const REASONS: Readonly<Record<FailureKind, PlainReason | Readonly<Record<Asked, PlainReason>>>> = {
  login_failed: by('login_failed', 'account_reauth_required'),
  grant_refused: by('invalid_grant', 'account_reauth_required'),
  misconfigured: 'account_misconfigured',
  not_allowed: by('server_not_allowed', 'account_misconfigured'),
  mailbox_gone: by('provider_not_found', 'account_disabled'),
  account_deleted: 'account_not_found',
  throttled: 'provider_throttled',
  unavailable: 'provider_unavailable',
  forbidden: 'provider_forbidden',
  // A search skips mailboxes that are gone.
  not_found: by('provider_not_found', 'provider_not_found', 'provider_unavailable'),
  rejected: by('provider_rejected', 'provider_unavailable', 'provider_rejected', 'provider_rejected'),
  conflict: by('provider_conflict', 'provider_unavailable', 'provider_unavailable', 'provider_conflict'),
  unsupported: by(
    'provider_unsupported',
    'account_misconfigured',
    'provider_unsupported',
    'provider_unsupported',
  ),
}

function by(
  signIn: PlainReason,
  read: PlainReason,
  search = read,
  change = read,
): Record<Asked, PlainReason> {
  return { sign_in: signIn, read, search, change }
}

/** The reason with which a request is refused for a failure of this kind. */
export function reasonOf(kind: FailureKind, asked: Asked): PlainReason {
  const reason = REASONS[kind]
  return typeof reason === 'string' ? reason : reason[asked]
}

/**
 * Refuses with the reason of a provider's failure. Problems of the account get our own message, all others the
 * provider's. Any other error is rethrown.
 */
export function refuseFailure(error: unknown, asked: Asked): never {
  if (!(error instanceof ProviderFailure)) throw error
  const reason = reasonOf(error.kind, asked)
  refuse(reason, undefined, {
    ...(!reason.startsWith('account_') && { message: error.message }),
    retryAfterSeconds: error.retryAfterSeconds ?? undefined,
    cause: error,
  })
}
