import type { Reason } from '@waxwing/contract/reasons.ts'
import { type FailureKind, ProviderFailure } from '../providers/failure.ts'
import { refuse } from './refuse.ts'

const REASONS = {
  login_failed: 'login_failed',
  throttled: 'provider_throttled',
  unavailable: 'provider_unavailable',
  forbidden: 'provider_forbidden',
  not_found: 'provider_not_found',
  rejected: 'provider_rejected',
  conflict: 'provider_conflict',
  unsupported: 'provider_unsupported',
  not_allowed: 'server_not_allowed',
} as const satisfies Record<FailureKind, Reason>

/** Refuses with the reason of a provider's failure, in its words. Anything else is thrown on. */
export function refuseFailure(error: unknown): never {
  if (!(error instanceof ProviderFailure)) throw error
  refuse(REASONS[error.kind], undefined, {
    message: error.message,
    retryAfterSeconds: error.retryAfterSeconds ?? undefined,
    cause: error,
  })
}
