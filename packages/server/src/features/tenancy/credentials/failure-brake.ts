import type { Clock } from '../../../kit/clock.ts'
import { createMinuteCounts } from '../../../kit/minute-counts.ts'

const FAILURES_MAX = 20
const MINUTE_MILLISECONDS = 60_000
/** Time for which an API key that succeeded is exempt. */
const EXEMPT_MILLISECONDS = 10 * MINUTE_MILLISECONDS
const CLIENTS_MAX = 100_000
const EXEMPT_MAX = 10_000

/**
 * Slows down clients that guess credentials: after 20 failures in a minute, a client is blocked until the minute ends.
 */
export interface FailureBrake {
  /** Seconds to wait before the client may present this credential; 0 if it may do so now. */
  waitSeconds(client: string, fingerprint: string): number
  recordFailure(client: string, fingerprint: string): void
  /**
   * Called for API keys only. They are exempt for 10 minutes, so that a bad client behind the same address does not
   * block a good one.
   */
  recordSuccess(fingerprint: string): void
}

/** Counts in this process, in windows of one minute of the clock. */
export function createFailureBrake(clock: Clock): FailureBrake {
  const failures = createMinuteCounts(clock, CLIENTS_MAX)
  const exemptUntil = new Map<string, number>()

  return {
    waitSeconds(client, fingerprint) {
      if (failures.get(client) < FAILURES_MAX) return 0
      if ((exemptUntil.get(fingerprint) ?? 0) > clock.now()) return 0
      return failures.secondsLeft()
    },
    recordFailure(client, fingerprint) {
      exemptUntil.delete(fingerprint)
      failures.add(client)
    },
    recordSuccess(fingerprint) {
      // Added again at the end, so that the first one is always the longest unused.
      exemptUntil.delete(fingerprint)
      if (exemptUntil.size >= EXEMPT_MAX) forgetOldest(exemptUntil)
      exemptUntil.set(fingerprint, clock.now() + EXEMPT_MILLISECONDS)
    },
  }
}

function forgetOldest(map: Map<string, unknown>) {
  const [first] = map.keys()
  if (first !== undefined) map.delete(first)
}
