export const FAILURE_KINDS = [
  'login_failed',
  'throttled',
  'unavailable',
  'forbidden',
  'not_found',
  'rejected',
  'conflict',
  'unsupported',
  'not_allowed',
] as const
export type FailureKind = (typeof FAILURE_KINDS)[number]

/** The only error that an adapter throws. `message` is for people and contains no secret. */
export class ProviderFailure extends Error {
  readonly kind: FailureKind
  readonly retryAfterSeconds: number | null

  constructor(
    kind: FailureKind,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'ProviderFailure'
    this.kind = kind
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }
}
