import type { EndState, OwnerChange } from '../evidence.ts'
import { entriesOf, type FaultEntry } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

/** The service has this long to go on after the database is back. */
const DATABASE_MS = 10_000
const DATABASE_FAULTS = new Set([
  'database_fast',
  'database_immediate',
  'database_kill',
  'database_stopped',
  'database_slow',
])
/** Faults in which a process cannot follow anything, although it owns the account. */
const DISABLING_FAULTS = new Set(['kill_process', 'stop_process', 'cut_database', 'cut_database_one_way'])

/** From and to, in milliseconds since the epoch. */
type Span = readonly [from: number, to: number]

/**
 * I7: no account is for longer than the bound without an owner that lives and reaches the database. Time does not count
 * in which the database was down, or in which the only process that follows accounts was.
 */
export const checkUnowned: Check = ({ history, end }) => {
  const secondsMax = end.bounds.unowned
  if (secondsMax === null) return []
  const faults = entriesOf(history, 'fault')
  const excused = merge(faults.flatMap(fault => excuse(fault, end)))
  const inactive = new Set(end.transitions.flatMap(({ kind, id }) => (kind === 'account' ? id : [])))
  const byAccount = Map.groupBy(end.owners, ({ accountId }) => accountId)
  return [...byAccount].flatMap(([accountId, changes]) => {
    // Nobody follows an account whose status is another one.
    if (inactive.has(accountId)) return []
    return findUnowned(changes, faults).flatMap((span): Violation[] => {
      const seconds = (lengthOf(span) - sharedWith(span, excused)) / 1_000
      if (seconds <= secondsMax) return []
      const since = new Date(span[0]).toISOString()
      return [
        {
          invariant: 'I7',
          message: `account ${accountId} had no living owner for ${seconds.toFixed(1)} s from ${since} on`,
        },
      ]
    })
  })
}

function excuse({ kind, process, from, at }: FaultEntry, { loneFollower }: EndState): Span[] {
  if (DATABASE_FAULTS.has(kind)) return [[from, at + DATABASE_MS]]
  const isLone = loneFollower !== null && process?.startsWith(`${loneFollower}.`) === true
  return isLone ? [[from, at]] : []
}

/** The times between the first owner and the last change in which nobody owned the account, or one who could not act. */
function findUnowned(changes: readonly OwnerChange[], faults: readonly FaultEntry[]): Span[] {
  const spans = changes.slice(0, -1).flatMap(({ at, owner }, index): Span[] => {
    const until = changes[index + 1]?.at ?? at
    if (owner === null) return [[at, until]]
    return faults
      .filter(fault => fault.process === owner && DISABLING_FAULTS.has(fault.kind))
      .map((fault): Span => {
        // A process that was killed does not come back under its name.
        const end = fault.kind === 'kill_process' ? until : fault.at
        return [Math.max(at, fault.from), Math.min(until, end)]
      })
  })
  return merge(spans.filter(span => lengthOf(span) > 0))
}

/** Joins spans that touch or overlap. */
function merge(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted(([one], [other]) => one - other)) {
    const last = merged.at(-1)
    if (last && span[0] <= last[1]) merged[merged.length - 1] = [last[0], Math.max(last[1], span[1])]
    else merged.push(span)
  }
  return merged
}

function lengthOf([from, to]: Span): number {
  return to - from
}

function sharedWith([from, to]: Span, others: readonly Span[]): number {
  return others.reduce(
    (sum, other) => sum + Math.max(0, Math.min(to, other[1]) - Math.max(from, other[0])),
    0,
  )
}
