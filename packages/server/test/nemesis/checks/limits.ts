import { entriesOf, type HistoryEntry, type RequestEntry, type WindowCount } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

const WINDOW_MS = 60_000
/** Clocks and answers on their way differ by this much; a window is told by the second. */
const SLACK_MS = 3_000
/** Faults after which nobody knows what was counted before, in memory or in a table that is not logged. */
const FORGETTING = new Set(['redis_flushed', 'database_immediate', 'database_kill'])

/**
 * I9: no more requests were accepted in a window than its limit. Requests without headers were let through because the
 * store of the windows could not be reached; they count nowhere. At the end nothing is in flight.
 */
export const checkLimits: Check = ({ history, end }) => {
  const { allowed, accepted } = end.resources.inFlight
  return [
    ...findCrowdedWindows(history),
    ...(accepted < allowed
      ? [broken(`only ${accepted} of ${allowed} requests could be in flight at the end`)]
      : []),
  ]
}

type Counted = RequestEntry & { window: WindowCount }

function findCrowdedWindows(history: readonly HistoryEntry[]): Violation[] {
  const forgotten = entriesOf(history, 'fault').filter(({ kind }) => FORGETTING.has(kind))
  const counted = entriesOf(history, 'request').filter(
    (entry): entry is Counted => entry.window !== null && entry.status !== 429,
  )
  const byActor = Map.groupBy(counted, ({ actor }) => actor)
  return [...byActor].flatMap(([actor, entries]) => {
    const windows = Map.groupBy(entries, windowOf)
    return [...windows].flatMap(([end, inWindow]) => {
      const limit = Math.max(...inWindow.map(({ window }) => window.limit))
      const isForgotten = forgotten.some(({ from, at }) => from < end && at > end - WINDOW_MS)
      if (inWindow.length <= limit || isForgotten) return []
      const until = new Date(end).toISOString()
      return [
        broken(
          `${actor}: ${inWindow.length} requests were accepted in the window until ${until}, of ${limit}`,
        ),
      ]
    })
  })
}

/** The minute in which the window of an answer ends; answers near its edge are given to the one that they name. */
function windowOf({ at, window }: Counted): number {
  const end = at + window.resetSeconds * 1_000
  return Math.round((end - SLACK_MS / 2) / WINDOW_MS) * WINDOW_MS
}

function broken(message: string): Violation {
  return { invariant: 'I9', message }
}
