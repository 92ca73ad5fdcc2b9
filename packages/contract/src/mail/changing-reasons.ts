/** The reasons of every operation that changes mail at the provider. */
export const CHANGING_REASONS = [
  'account_not_found',
  'account_paused',
  'account_disabled',
  'account_reauth_required',
  'account_misconfigured',
  'provider_not_found',
  'provider_conflict',
  'provider_rejected',
  'provider_unsupported',
  'provider_forbidden',
  'provider_throttled',
  'provider_unavailable',
  'scope_missing',
] as const
