/**
 * Every way in which a provider fails, and whether it is permanent: then another try helps only after a change of the
 * account or its provider.
 */
const FAILURES = {
  /** The login was refused. Not permanent: some servers refuse good passwords while they are overloaded. */
  login_failed: { isPermanent: false },
  /** The grant of the account is certainly no longer valid. */
  grant_refused: { isPermanent: true },
  /** The provider refuses an access token that it has just issued. The grant may still be valid. */
  access_refused: { isPermanent: false },
  /** The user has not granted a permission that is needed. */
  scope_missing: { isPermanent: true },
  /** The account cannot be reached as it is set up here or at the provider. */
  misconfigured: { isPermanent: true },
  /** The operator does not allow a connection to the server. */
  not_allowed: { isPermanent: true },
  /** The provider no longer has the mailbox of the account, or closed it. */
  mailbox_gone: { isPermanent: true },
  /** The account was deleted here before the call to its provider. */
  account_deleted: { isPermanent: true },
  /** The provider demands a slower pace; `retryAfterSeconds` is the time that it named, if any. */
  throttled: { isPermanent: false },
  /** The provider did not answer, failed, or the connection to it broke. */
  unavailable: { isPermanent: false },
  forbidden: { isPermanent: true },
  not_found: { isPermanent: true },
  /** The provider refuses the request. */
  rejected: { isPermanent: true },
  /** The object to be read or changed has changed meanwhile. */
  conflict: { isPermanent: false },
  unsupported: { isPermanent: true },
} as const

export type FailureKind = keyof typeof FAILURES

/** The reason of the interface for a failure whose kind has several. */
export type FailureReason =
  // misconfigured
  | 'provider_not_configured'
  | 'oauth_app_secret_unreadable'
  | 'invalid_client'
  | 'server_not_allowed'
  // mailbox_gone
  | 'provider_forbidden'
  | 'provider_not_found'
  // scope_missing, by the user's own choice
  | 'scope_denied'
  // rejected
  | 'not_dav_server'
  | 'dav_discovery_failed'
  // unsupported
  | 'dav_unsupported'

interface FailureOptions {
  cause?: unknown
  retryAfterSeconds?: number
  reason?: FailureReason
  /** Whether the provider certainly carried out nothing; by default only `unavailable` leaves that open. */
  isBeforeAcceptance?: boolean
  /** Whether the service itself had no connection or quota to spare, so that the provider is not at fault. */
  isBusy?: boolean
  /** Whether the provider has another message under the number that the wanted message has in the index. */
  isOther?: boolean
}

/**
 * The only error that an adapter throws. `message` is for people and holds no secret. An adapter does not wait for a
 * quota: it throws `throttled` with the time, so that no caller holds a connection or a place in a queue meanwhile.
 */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure'
  readonly kind: FailureKind
  readonly retryAfterSeconds: number | null
  readonly reason: FailureReason | null
  /** False if the provider may have carried out the request: then it must not be repeated blindly. */
  readonly isBeforeAcceptance: boolean
  /** True if the service itself had no connection or quota to spare, so that the provider is not at fault. */
  readonly isBusy: boolean
  /** True if the provider has another message under the number that the wanted message has in the index. */
  readonly isOther: boolean

  constructor(kind: FailureKind, message: string, options: FailureOptions = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
    this.reason = options.reason ?? null
    this.isBusy = options.isBusy ?? false
    this.isOther = options.isOther ?? false
    this.isBeforeAcceptance = options.isBeforeAcceptance ?? kind !== 'unavailable'
  }

  get isPermanent(): boolean {
    return FAILURES[this.kind].isPermanent
  }
}

/** Failures with which no call for the account can succeed. */
const OF_ACCOUNT: ReadonlySet<FailureKind> = new Set([
  'access_refused',
  'account_deleted',
  'grant_refused',
  'mailbox_gone',
  'misconfigured',
])

export function isOfAccount({ kind }: ProviderFailure): boolean {
  return OF_ACCOUNT.has(kind)
}

/** Copies a failure with some changes. */
export function restate(
  failure: ProviderFailure,
  change: {
    kind?: FailureKind
    message?: string
    isBeforeAcceptance?: boolean
    isBusy?: boolean
    retryAfterSeconds?: number
  },
): ProviderFailure {
  const { kind, message, retryAfterSeconds, reason, isBeforeAcceptance, isBusy, isOther } = {
    ...failure,
    message: failure.message,
    ...change,
  }
  return new ProviderFailure(kind, message, {
    cause: failure,
    isBeforeAcceptance,
    isBusy,
    isOther,
    ...(retryAfterSeconds !== null && { retryAfterSeconds }),
    ...(reason !== null && { reason }),
  })
}

/** Runs work that has no effect at the provider, with any outcome. */
export async function beforeAcceptance<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    throw restate(error, { isBeforeAcceptance: true })
  }
}
