/**
 * Every way in which a provider fails, and whether it is permanent: then asking again helps only after somebody changed
 * something.
 */
const FAILURES = {
  /** The login was refused. Not permanent: some servers refuse good passwords while they are overloaded. */
  login_failed: { isPermanent: false },
  /** The provider says for certain that the grant of the account is no longer valid. */
  grant_refused: { isPermanent: true },
  /** The account cannot be reached as it is set up here or at the provider. */
  misconfigured: { isPermanent: true },
  /** The operator does not allow a connection to the server. */
  not_allowed: { isPermanent: true },
  /** The provider no longer has the mailbox of the account, or closed it. */
  mailbox_gone: { isPermanent: true },
  /** The account was deleted here while its provider was to be asked. */
  account_deleted: { isPermanent: true },
  /** The provider asks to slow down; `retryAfterSeconds` says for how long, where it named a time. */
  throttled: { isPermanent: false },
  /** The provider did not answer, failed, or the connection to it broke. */
  unavailable: { isPermanent: false },
  forbidden: { isPermanent: true },
  not_found: { isPermanent: true },
  /** The provider refuses what was asked. */
  rejected: { isPermanent: true },
  /** What was to be changed has changed meanwhile. */
  conflict: { isPermanent: false },
  unsupported: { isPermanent: true },
} as const

export type FailureKind = keyof typeof FAILURES

interface FailureOptions {
  cause?: unknown
  retryAfterSeconds?: number
  /** Whether the provider certainly carried out nothing; by default only `unavailable` leaves that open. */
  isBeforeAcceptance?: boolean
  /** Whether the service itself had no connection to spare, which says nothing about the provider. */
  isBusy?: boolean
}

/**
 * The only error that an adapter throws. `message` is for people and holds no secret. An adapter does not wait for a
 * quota: it throws `throttled` with the time, so that nobody holds a connection or a place in a queue meanwhile.
 */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure'
  readonly kind: FailureKind
  readonly retryAfterSeconds: number | null
  /** False where the provider may have carried out what was asked: then it must not be repeated blindly. */
  readonly isBeforeAcceptance: boolean
  /** True if the service itself had no connection to spare, which says nothing about the provider. */
  readonly isBusy: boolean

  constructor(kind: FailureKind, message: string, options: FailureOptions = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
    this.isBusy = options.isBusy ?? false
    this.isBeforeAcceptance = options.isBeforeAcceptance ?? kind !== 'unavailable'
  }

  get isPermanent(): boolean {
    return FAILURES[this.kind].isPermanent
  }
}

/** Copies a failure with another kind or message. */
export function restate(
  failure: ProviderFailure,
  change: { kind?: FailureKind; message?: string; isBeforeAcceptance?: boolean },
): ProviderFailure {
  const { kind, message, retryAfterSeconds, isBeforeAcceptance, isBusy } = {
    ...failure,
    message: failure.message,
    ...change,
  }
  return new ProviderFailure(kind, message, {
    cause: failure,
    isBeforeAcceptance,
    isBusy,
    ...(retryAfterSeconds !== null && { retryAfterSeconds }),
  })
}
