import { type FailureKind, isOfAccount, ProviderFailure } from './failure.ts'

const REFUSED_MS = 3_600_000
const FAILED_MS = 60_000

const REFUSALS: ReadonlySet<FailureKind> = new Set([
  'conflict',
  'forbidden',
  'not_found',
  'rejected',
  'scope_missing',
  'unsupported',
])

/**
 * Whether the provider has decided to send no pushes: it does not reach the address, it may not publish to the topic, or
 * the grant does not allow it.
 */
export function isRefusal({ kind }: ProviderFailure): boolean {
  return REFUSALS.has(kind)
}

/** The failures of a provider that is asked for pushes, and the pause after each of them. */
export interface PushTrouble {
  /** The reason, for people, why the provider refuses; null if it does not. */
  readonly problem: string | null
  /** Whether the provider is not to be asked now. */
  readonly isPaused: boolean
  /** Begins a pause. Throws failures of the account, which its follower handles. */
  note(error: unknown): void
  /** Called when the provider has granted pushes. */
  end(): void
}

/** @param refusal the beginning of `problem`, which the message of the failure follows */
export function pushTrouble(refusal: string, now: () => number): PushTrouble {
  let problem: string | null = null
  let pause: { from: number; until: number } | null = null
  return {
    get problem() {
      return problem
    },
    get isPaused() {
      // A pause that begins later was set before the clock was set back.
      return pause !== null && pause.from <= now() && now() < pause.until
    },
    note(error) {
      if (!(error instanceof ProviderFailure) || isOfAccount(error)) throw error
      const isRefused = isRefusal(error)
      problem = isRefused ? `${refusal}: ${error.message}` : null
      const pauseMs = Math.max(isRefused ? REFUSED_MS : FAILED_MS, (error.retryAfterSeconds ?? 0) * 1_000)
      pause = { from: now(), until: now() + pauseMs }
    },
    end() {
      problem = null
      pause = null
    },
  }
}
