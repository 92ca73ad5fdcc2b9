import { ProviderFailure } from '../providers/failure.ts'

/** A provider that asks for a longer pause has failed. */
const ASKED_SECONDS_MAX = 120
/** The least that is waited after a refusal, also if it names no time. */
const ASKED_SECONDS_MIN = 2

/** A period of reduced or no quota, while the connection to the provider stays good. It is no failure. */
export interface Pause {
  seconds: number
  /** For people. */
  reason: string
}

/**
 * The pause that an error asks for; null if it is a failure.
 * @param isOneAtATime whether others may wait for the connection
 */
export function findPause(error: unknown, { isOneAtATime }: { isOneAtATime: boolean }): Pause | null {
  if (!(error instanceof ProviderFailure) || error.kind !== 'throttled') return null
  const { retryAfterSeconds, isBusy, message } = error
  if (isBusy)
    return retryAfterSeconds === null ? null : { seconds: retryAfterSeconds, reason: 'for its quota' }
  const seconds = Math.max(retryAfterSeconds ?? 0, ASKED_SECONDS_MIN)
  // A connection that others wait for is not held meanwhile.
  if (isOneAtATime || seconds > ASKED_SECONDS_MAX) return null
  return { seconds, reason: `since the provider asks for that: ${message}` }
}
