import type { Reason } from '@waxwing/contract/reasons.ts'

/** The next step of a program after an error, by its status, beside what the message of the reason asks for. */
const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'Change the request, or what it needs. The same request would get the same answer.',
  401: 'Get another credential. After 20 failures within a minute, an address waits until the minute ends.',
  402: 'Nothing can be repeated before the account of the tenant is settled.',
  403: 'Use a credential or a plan that allows this. The same request would get the same answer.',
  404: 'Do not repeat the request. What was deleted, and what belongs to another tenant, is answered in the same way.',
  409: 'Change the state that the message describes, then send the request again.',
  410: 'Do not repeat the request: it is gone.',
  413: 'Send less. The same request would get the same answer.',
  422: 'Change the request. The same request would get the same answer.',
  429: 'Wait for the seconds in `Retry-After`, then send the request again.',
  500: 'The outcome of a write may be unknown. Send it again with the same `Idempotency-Key`.',
  502: 'The outcome of a write may be unknown. Send it again with the same `Idempotency-Key`.',
  503: 'Wait for the seconds in `Retry-After`, then send the request again. Nothing was done.',
}

/** Reasons after which a program does something else than after others of their status. */
const BY_REASON: Partial<Record<Reason, string>> = {
  draft_lost:
    'Repeat the request. The draft can still be read, and the repetition creates it at the provider again.',
  event_not_found: 'Do not repeat the request.',
  idempotency_key_in_progress: 'Wait for a second, then send the same request again.',
  invalid_cursor:
    'Begin again without a cursor. A copy of the data is compared with the lists of the service first.',
  provider_conflict: 'Read the resource again, then repeat the change.',
  provider_throttled:
    'Wait for the seconds in `Retry-After`, then send the request again. If it changes several things, such as the messages of a thread, a part may be done already, and the repetition does the rest.',
  storage_unavailable:
    'Wait until the operator has repaired the storage, then send a POST with another `Idempotency-Key`: the answer is kept under the first one.',
}

/** The next step of a program after an error. */
export function remedyOf(reason: Reason, status: number): string {
  const remedy = BY_REASON[reason] ?? BY_STATUS[status]
  if (remedy === undefined) throw new Error(`There is no remedy for status ${status}`)
  return remedy
}
