import type { Clock } from '../../../kit/clock.ts'

const FAILURES_MAX = 20
const MINUTE_MILLISECONDS = 60_000
/** How long an API key that succeeded is let past the brake. */
const EXEMPT_MILLISECONDS = 10 * MINUTE_MILLISECONDS
const CLIENTS_MAX = 100_000
const EXEMPT_MAX = 10_000

/** Slows down whoever guesses credentials: after 20 failures in a minute a client waits for the minute's end. */
export interface FailureBrake {
  /** Seconds to wait before the client may present this credential; 0 where it may. */
  waitSeconds(client: string, fingerprint: string): number
  recordFailure(client: string, fingerprint: string): void
  /** To be told of API keys only: they are exempt for 10 minutes, so that one bad client does not stop a good one. */
  recordSuccess(fingerprint: string): void
}

/** Counts in this process, by the minutes of the clock. */
export function createFailureBrake(clock: Clock): FailureBrake {
  let minute = 0
  const failures = new Map<string, number>()
  const exemptUntil = new Map<string, number>()

  function turnMinute(): number {
    const now = clock.now()
    const current = Math.floor(now / MINUTE_MILLISECONDS)
    if (current !== minute) {
      minute = current
      failures.clear()
    }
    return now
  }

  return {
    waitSeconds(client, fingerprint) {
      const now = turnMinute()
      if ((failures.get(client) ?? 0) < FAILURES_MAX) return 0
      if ((exemptUntil.get(fingerprint) ?? 0) > now) return 0
      return Math.max(1, Math.ceil(((minute + 1) * MINUTE_MILLISECONDS - now) / 1000))
    },
    recordFailure(client, fingerprint) {
      turnMinute()
      exemptUntil.delete(fingerprint)
      if (failures.size >= CLIENTS_MAX) forgetOldest(failures)
      failures.set(client, (failures.get(client) ?? 0) + 1)
    },
    recordSuccess(fingerprint) {
      // Behind all others, so that the first is the one that is longest unused.
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
