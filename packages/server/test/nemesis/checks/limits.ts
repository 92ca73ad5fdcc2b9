import type { WindowsState } from '../evidence.ts'
import { entriesOf, type HistoryEntry, type RequestEntry, type WindowCount } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

const WINDOW_MS = 60_000
/** Clocks and answers on their way differ by this much; a window is reported by the second. */
const SLACK_MS = 3_000
/** Faults by which the keeper of the windows loses earlier counts. The table is not logged. */
const FORGETTING: Record<WindowsState['keeper'], ReadonlySet<string>> = {
  redis: new Set(['redis_killed', 'redis_flushed']),
  table: new Set(['database_immediate', 'database_kill', 'database_failover', 'clock_ahead']),
  memory: new Set([
    'kill_process',
    'restart_process',
    'database_immediate',
    'database_kill',
    'database_failover',
    'clock_ahead',
  ]),
}
/** A process that has waited this long for Redis in vain takes it to be gone. */
const NOTICE_MS = 2_000

/**
 * I9: no more requests were accepted in a window than its limit, and no place of one was given twice. Requests without
 * headers were let through because the store of the windows could not be reached; they count nowhere. At the end
 * requests are counted, and nothing is in flight.
 */
export const checkLimits: Check = ({ history, end }) => {
  const { keeper, isCounted } = end.windows
  const { inFlight, leftInRedis } = end.resources
  return [
    ...findCrowdedWindows(history, keeper),
    ...findCountedWithoutRedis(history),
    ...(isCounted ? [] : [broken('requests are not counted at the end')]),
    ...(leftInRedis > 0
      ? [broken(`${leftInRedis} requests are in flight in Redis, although there is none`)]
      : []),
    ...inFlight
      .filter(({ allowed, accepted }) => accepted < allowed)
      .map(({ process, allowed, accepted }) =>
        broken(`${process}: only ${accepted} of ${allowed} requests of a key could be in flight at the end`),
      ),
  ]
}

type Counted = RequestEntry & { window: WindowCount }

function findCrowdedWindows(history: readonly HistoryEntry[], keeper: WindowsState['keeper']): Violation[] {
  const forgotten = entriesOf(history, 'fault').filter(({ kind }) => FORGETTING[keeper].has(kind))
  const counted = acceptedOf(history)
  const byActor = Map.groupBy(counted, ({ actor }) => actor)
  return [...byActor].flatMap(([actor, entries]) => {
    const windows = Map.groupBy(entries, windowOf)
    return [...windows].flatMap(([end, inWindow]) => {
      const limit = Math.max(...inWindow.map(({ window }) => window.limit))
      const isForgotten = forgotten.some(({ from, at }) => from < end && at > end - WINDOW_MS)
      if (isForgotten) return []
      const inside = `${actor}: in the window until ${new Date(end).toISOString()}`
      const places = new Set(inWindow.map(({ window }) => window.remaining))
      return [
        ...(inWindow.length > limit
          ? [broken(`${inside}, ${inWindow.length} requests were accepted, of ${limit}`)]
          : []),
        ...(places.size < inWindow.length
          ? [broken(`${inside}, places given twice: ${inWindow.length - places.size}`)]
          : []),
      ]
    })
  })
}

function acceptedOf(history: readonly HistoryEntry[]): Counted[] {
  return entriesOf(history, 'request').filter(
    (entry): entry is Counted => entry.window !== null && entry.status !== 429,
  )
}

/** While Redis is stopped, nothing can be counted there, and nothing else may count in its place. */
function findCountedWithoutRedis(history: readonly HistoryEntry[]): Violation[] {
  const stops = entriesOf(history, 'fault').filter(({ kind }) => kind === 'redis_stopped')
  return acceptedOf(history)
    .filter(({ from, at }) => stops.some(stop => from > stop.from + NOTICE_MS && at < stop.at))
    .map(({ actor, requestId }) => broken(`${actor}: ${requestId} was counted while Redis was stopped`))
}

/** The minute in which the window of an answer ends; answers near its edge are given to the one that they name. */
function windowOf({ at, window }: Counted): number {
  const end = at + window.resetSeconds * 1_000
  return Math.round((end - SLACK_MS / 2) / WINDOW_MS) * WINDOW_MS
}

function broken(message: string): Violation {
  return { invariant: 'I9', message }
}
