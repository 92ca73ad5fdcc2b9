import type { Outcome, WaxwingError } from './errors.ts'
import type { Request } from './request.ts'

/** Reasons of refusals that come before anything of a call is done. */
const BEFORE_ANYTHING = new Set([
  'account_token_forbidden',
  'api_key_expired',
  'invalid_input',
  'missing_scope',
  'overloaded',
  'payload_too_large',
  'rate_limited',
  'role_forbidden',
  'too_many_requests',
  'unauthenticated',
])

/** Statuses of a refusal that says nothing of what an earlier try did. */
const OF_THIS_TRY = new Set([401, 403, 408, 429])

/**
 * Whether a write changed anything, after its last try.
 * @param isUnclear whether an earlier try may have changed something
 */
export function outcomeOf(request: Request, error: WaxwingError, isUnclear: boolean): Outcome {
  if (request.method === 'GET') return 'not_applied'
  const outcome = outcomeOfTry(request, error)
  if (!isUnclear || outcome === 'unknown') return outcome
  // The answer that the service keeps for a key is that of all tries. Other writes may have been done and then be refused.
  const { status = 0 } = error
  const isKept = request.takesKey && error.isDefined && status >= 400 && status < 500
  return isKept && !OF_THIS_TRY.has(status) ? 'not_applied' : 'unknown'
}

function outcomeOfTry(
  { mayHalfApply }: Request,
  { status = 0, code, isDefined, outcome }: WaxwingError,
): Outcome {
  if (code === 'redirected' || BEFORE_ANYTHING.has(code)) return 'not_applied'
  if (status === 0) return outcome
  // The first request with the key still runs.
  if (code === 'idempotency_key_in_progress') return 'unknown'
  // A provider may refuse the second of two calls. A proxy refuses a request before it passes it on.
  if (status === 429) return isDefined ? 'unknown' : 'not_applied'
  if (status < 400 || status >= 500 || status === 408) return 'unknown'
  return mayHalfApply ? 'unknown' : 'not_applied'
}
