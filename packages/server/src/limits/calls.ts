import { createInFlight } from './in-flight.ts'
import type { Count, Window, Windows } from './windows.ts'

/** A call that was counted. */
export interface BegunCall {
  /** Whether its credential has too many requests in progress; then it is counted on no window. */
  isFull: boolean
  /** Null if it has no windows, or their store cannot be reached. */
  count: Count | null
  /** Ends the request; called when its last byte is out, whatever its outcome. Further calls have no effect. */
  end(): void
}

/** Bounds the calls of each credential: how many are in progress, and how many begin in a minute. */
export interface CallLimits {
  begin(credentialId: string, windows: readonly Window[]): BegunCall | Promise<BegunCall>
  /** Seconds until the window ends if it is known to be spent without asking the store, otherwise 0. */
  spentSeconds(window: Window): number
  /** Requests in progress in this process. */
  readonly inFlightTotal: number
}

/** Counts the requests in progress in this process only, and those of a minute on the given windows. */
export function createOwnCalls(windows: Windows): CallLimits {
  const inFlight = createInFlight()
  const count = async (end: () => void, counted: readonly Window[]): Promise<BegunCall> => ({
    isFull: false,
    count: await windows.count(counted),
    end,
  })
  return {
    begin(credentialId, counted) {
      const end = inFlight.enter(credentialId)
      if (!end) return FULL
      return counted.length === 0 ? { isFull: false, count: null, end } : count(end, counted)
    },
    spentSeconds: window => windows.spentSeconds(window),
    get inFlightTotal() {
      return inFlight.total
    },
  }
}

/** The answer to a call that is one too many. */
export const FULL: BegunCall = { isFull: true, count: null, end: () => {} }
