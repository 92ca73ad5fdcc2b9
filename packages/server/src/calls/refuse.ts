import { type Reason, type ReasonData, reasons } from '@waxwing/contract/reasons.ts'

interface RefusalOptions {
  /** Replaces the reason's own message by a more exact one, such as the account that already exists. */
  message?: string
  /** Sent as `Retry-After`. */
  retryAfterSeconds?: number
  cause?: unknown
}

/** Thrown when a request is refused with a reason. The front door turns it into the error body. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly reason: Reason
  readonly status: number
  readonly data: unknown
  readonly retryAfterSeconds: number | undefined

  constructor(reason: Reason, data: unknown, options: RefusalOptions) {
    super(options.message ?? reasons[reason].message, { cause: options.cause })
    this.reason = reason
    this.status = reasons[reason].status
    this.data = data
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

type DataOf<R extends Reason> = R extends keyof ReasonData ? ReasonData[R] : undefined

/**
 * Refuses the request: `refuse('account_not_found')`, `refuse('unknown_mailbox', { ids })`,
 * `refuse('account_exists', undefined, { message })`. The operation must list the reason in `refuses`.
 */
export function refuse<R extends Reason>(
  reason: R,
  ...[data, options]: R extends keyof ReasonData
    ? [data: ReasonData[R], options?: RefusalOptions]
    : [data?: DataOf<R>, options?: RefusalOptions]
): never {
  throw new Refusal(reason, data, options ?? {})
}
