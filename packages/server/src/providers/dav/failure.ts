import { type FailureKind, ProviderFailure } from '../failure.ts'
import type { AnswerHeaders } from '../http/exchange.ts'
import { retryAfterSeconds } from '../http/retry-after.ts'

const KINDS: Readonly<Record<number, FailureKind>> = {
  401: 'login_failed',
  403: 'forbidden',
  404: 'not_found',
  408: 'unavailable',
  409: 'conflict',
  410: 'not_found',
  412: 'conflict',
  423: 'conflict',
  429: 'throttled',
}

const MESSAGES: Partial<Readonly<Record<FailureKind, string>>> = {
  login_failed: 'The server refused the login.',
  forbidden: 'The server does not allow this.',
  not_found: 'The server no longer has this.',
  conflict: 'It was changed on the server meanwhile.',
  throttled: 'The server asks for a pause.',
}

/** A failure that a server answered with a status. */
export class StatusFailure extends ProviderFailure {
  readonly status: number

  /** @param now milliseconds since 1970, for the pause that a date names */
  constructor(status: number, headers: AnswerHeaders = {}, now = Date.now()) {
    const pause = retryAfterSeconds(headers, now)
    const kind = kindOf(status, pause)
    const message = MESSAGES[kind] ?? `The server answered with status ${status}.`
    super(kind, message, {
      isBeforeAcceptance: status < 500 || kind !== 'unavailable',
      ...(pause !== null && { retryAfterSeconds: pause }),
    })
    this.status = status
  }
}

function kindOf(status: number, pause: number | null): FailureKind {
  if (status === 503 && pause !== null) return 'throttled'
  const known = KINDS[status]
  if (known) return known
  // 507: the account has no room left (RFC 4918 section 11.5).
  return (status >= 400 && status < 500) || status === 507 ? 'rejected' : 'unavailable'
}
