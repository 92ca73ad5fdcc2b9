import type { Reason, ReasonData } from './types.ts'

/** Whether a call that failed changed anything. `unknown`: it may have. */
export type Outcome = 'not_applied' | 'unknown'

/** Codes of this client, for calls that were not answered as the interface promises. */
export type ClientCode =
  | 'no_key'
  | 'no_connection'
  | 'timeout'
  | 'unreadable_answer'
  | 'redirected'
  | 'incomplete'

/** The facts of an error. */
export interface ErrorFacts {
  code: string
  message: string
  status?: number | undefined
  isDefined?: boolean
  data?: unknown
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
  outcome: Outcome
  cause?: unknown
}

/** Why a call failed. `isReason` tells the reasons apart, and so do the classes that extend this one. */
export class WaxwingError extends Error {
  override name = 'WaxwingError'
  /** A reason of the interface, or a code of this client. New ones may come. */
  readonly code: Reason | ClientCode | (string & {})
  /** The HTTP status; undefined if there was no answer. */
  readonly status: number | undefined
  /** Whether the service declares `code` as a reason. */
  readonly isDefined: boolean
  /** Facts of the reason, such as `issues`. */
  readonly data: unknown
  /** Names the request in the logs of the service. */
  readonly requestId: string | undefined
  /** Seconds after which the call may be sent again, if the answer has them. */
  readonly retryAfterSeconds: number | undefined
  readonly outcome: Outcome
  /** If a list was iterated: the `nextCursor` of the last page that could be read. */
  cursor?: string

  constructor(facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = facts.code
    this.status = facts.status
    this.isDefined = facts.isDefined ?? false
    this.data = facts.data
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.outcome = facts.outcome
  }
}

/** Status 400, 413 or 422: the call needs to be changed. `data.issues` of `invalid_input` says where. */
export class BadRequestError extends WaxwingError {
  override name = 'BadRequestError'
}

/** Status 401: the credential is missing, unknown or ended. */
export class UnauthenticatedError extends WaxwingError {
  override name = 'UnauthenticatedError'
}

/** Status 402 or 403: the credential, the role or the plan does not allow the call. */
export class ForbiddenError extends WaxwingError {
  override name = 'ForbiddenError'
}

/** Status 404 or 410: it is not there, or not any more. */
export class NotFoundError extends WaxwingError {
  override name = 'NotFoundError'
}

/** Status 409 or 412: the state of what the call concerns does not allow it. */
export class ConflictError extends WaxwingError {
  override name = 'ConflictError'
}

/** Status 429: too many requests. */
export class RateLimitedError extends WaxwingError {
  override name = 'RateLimitedError'
}

/** Status 5xx: the service, or the provider behind it, cannot answer now. */
export class ServiceError extends WaxwingError {
  override name = 'ServiceError'
}

/** No answer, or none that can be read. */
export class ConnectionError extends WaxwingError {
  override name = 'ConnectionError'
}

const CLASSES: Record<number, typeof WaxwingError> = {
  400: BadRequestError,
  401: UnauthenticatedError,
  402: ForbiddenError,
  403: ForbiddenError,
  404: NotFoundError,
  410: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  413: BadRequestError,
  422: BadRequestError,
  429: RateLimitedError,
}

/** An error of the class that fits its status. */
export function errorOf(facts: ErrorFacts): WaxwingError {
  const { status } = facts
  const Class =
    status === undefined || status < 400
      ? ConnectionError
      : (CLASSES[status] ?? (status >= 500 ? ServiceError : WaxwingError))
  return new Class(facts)
}

/** Whether a call failed for this reason; the type of `data` is then known. */
export function isReason<R extends Reason>(
  error: unknown,
  reason: R,
): error is WaxwingError & { code: R; data: R extends keyof ReasonData ? ReasonData[R] : undefined } {
  return error instanceof WaxwingError && error.code === reason
}
