import type { Clock } from '../../../kit/clock.ts'
import type { Marks } from '../../../limits/marks.ts'
import type { SureWindows } from '../../../limits/windows.ts'

const FAILURES_MAX = 20
const MINUTE_MILLISECONDS = 60_000
/** Time for which an API key that succeeded is exempt. */
const EXEMPT_MILLISECONDS = 10 * MINUTE_MILLISECONDS
/**
 * A success is marked for the other processes at most once in this time, and they exempt the key for as much longer.
 */
const MARK_MILLISECONDS = MINUTE_MILLISECONDS
/** Time for which a client that was not blocked is not checked again, unless it fails here. */
const UNBLOCKED_MILLISECONDS = 1_000
/** Clients whose failures one process counts at once. */
export const FAILING_CLIENTS_MAX = 100_000
const CLIENTS_MAX = 10_000
const EXEMPT_MAX = 10_000

/**
 * Slows down clients that guess credentials: after 20 failures in a minute, a client is blocked until the minute ends.
 */
export interface FailureBrake {
  /** Seconds to wait before the client may present this credential; 0 if it may do so now. */
  waitSeconds(client: string, fingerprint: string): Promise<number>
  recordFailure(client: string, fingerprint: string): Promise<void>
  /**
   * Called for API keys only. They are exempt for 10 minutes, so that a bad client behind the same address does not
   * block a good one.
   */
  recordSuccess(fingerprint: string): void
}

export interface FailureBrakeOptions {
  /** Windows of one minute. */
  windows: SureWindows
  /** Marks by which processes share successes; null if each counts for itself. */
  marks: Marks | null
  clock: Clock
}

export function createFailureBrake({ windows, marks, clock }: FailureBrakeOptions): FailureBrake {
  const exempt = new Map<string, { until: number; markedAt: number }>()
  const unblocked = new Map<string, number>()
  const windowOf = (client: string) => ({ name: `failures:${client}`, limit: FAILURES_MAX })
  const isExempt = (fingerprint: string) => (exempt.get(fingerprint)?.until ?? 0) > clock.now()

  async function blockedSeconds(client: string): Promise<number> {
    const window = windowOf(client)
    const known = windows.spentSeconds(window)
    if (known > 0 || marks === null) return known
    if (performance.now() - (unblocked.get(client) ?? Number.NEGATIVE_INFINITY) < UNBLOCKED_MILLISECONDS)
      return 0
    const { isAccepted, resetSeconds } = await windows.count([{ ...window, isOnlyChecked: true }])
    if (!isAccepted) return resetSeconds
    put(unblocked, CLIENTS_MAX, client, performance.now())
    return 0
  }

  return {
    async waitSeconds(client, fingerprint) {
      if (isExempt(fingerprint)) return 0
      const seconds = await blockedSeconds(client)
      return seconds > 0 && (await marks?.has(markOf(fingerprint))) ? 0 : seconds
    },
    async recordFailure(client, fingerprint) {
      exempt.delete(fingerprint)
      unblocked.delete(client)
      await Promise.all([marks?.delete(markOf(fingerprint)), windows.count([windowOf(client)])])
    },
    recordSuccess(fingerprint) {
      const now = clock.now()
      const { markedAt = Number.NEGATIVE_INFINITY } = exempt.get(fingerprint) ?? {}
      const mustMark = now - markedAt >= MARK_MILLISECONDS
      put(exempt, EXEMPT_MAX, fingerprint, {
        until: now + EXEMPT_MILLISECONDS,
        markedAt: mustMark ? now : markedAt,
      })
      if (mustMark) void marks?.add(markOf(fingerprint), (EXEMPT_MILLISECONDS + MARK_MILLISECONDS) / 1000)
    },
  }
}

function markOf(fingerprint: string): string {
  return `exempt:${fingerprint}`
}

/** Adds at the end, so that the first entry is always the longest unused, and forgets that one if there are too many. */
function put<T>(map: Map<string, T>, entriesMax: number, key: string, value: T): void {
  map.delete(key)
  const [first] = map.size >= entriesMax ? map.keys() : []
  if (first !== undefined) map.delete(first)
  map.set(key, value)
}
