import type { CheckedRecurrence } from '../kit/recurrence/check-recurrence.ts'
import { expand } from '../kit/recurrence/expand.ts'
import { findHits } from '../kit/recurrence/hits.ts'
import { printRecurrence } from '../kit/recurrence/recurrence-lines.ts'
import { shiftWall } from '../kit/recurrence/shift-rule.ts'
import { shiftSeries } from '../kit/recurrence/shift-series.ts'
import { PERIODS_MAX } from '../kit/recurrence/walk-rule.ts'
import type { Series } from '../kit/recurrence/split-series.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../kit/wall-clock.ts'
import { type EventTimes, newTimes } from './new-times.ts'

/* The members of a series after a change of its times or of its rule. */

export interface SeriesState {
  /** Of the series, which are those of its first member. */
  times: EventTimes
  /** RRULE, EXRULE and RDATE, as content lines. */
  lines: readonly string[]
  taken: readonly string[]
  /** Members that differ from the series. */
  exceptions: readonly string[]
}

export interface ChangedSeries {
  times: EventTimes
  lines: readonly string[]
  taken: readonly string[]
  /** The new names of the exceptions by their former ones. An exception that is absent has no member any more. */
  exceptions: ReadonlyMap<string, string>
}

/**
 * A series after a change. Members move by the difference between wall clocks, and those that were taken, or are exceptions,
 * move along. If the rule or the zone changes, those that hit no member are dropped.
 * @param timesOf the member whose times the change has; null: those of the series
 * @param tzid by which a file names the zone of the new start; its name unless given
 * @returns null if the rule cannot move to the new start
 */
export function changeSeries(
  state: SeriesState,
  change: Partial<EventTimes> & { recurrence?: CheckedRecurrence },
  timesOf: string | null = null,
  tzid?: string | null,
): ChangedSeries | null {
  const times = newTimes(state.times, change, timesOf)
  const series: Series = { start: state.times.start, lines: state.lines, taken: state.taken }
  const { recurrence } = change
  const moved = recurrence
    ? {
        start: times.start,
        // A caller can give no EXRULE, so one that another program wrote stays.
        lines: [...printRecurrence(recurrence, times.start, tzid), ...exclusionsOf(state.lines)],
        taken: series.taken.map(member => shiftWall(member, { from: series.start, to: times.start })),
      }
    : shiftSeries(series, times.start, tzid)
  if (!moved) return null
  const { lines } = moved
  const [from, to] = [series.start, times.start]
  const isMovedAlone = !recurrence && from.zone === to.zone && isDay(from.wall) === isDay(to.wall)
  const move = memberMove(series, moved, [...state.taken, ...state.exceptions], isMovedAlone)
  const taken = state.taken.flatMap(member => move(member) ?? [])
  return {
    times,
    lines,
    taken: [...new Set([...taken, ...(recurrence?.taken ?? [])])],
    exceptions: new Map(
      state.exceptions.flatMap(member => {
        const next = move(member)
        return next === null ? [] : [[member, next] as const]
      }),
    ),
  }
}

const exclusionsOf = (lines: readonly string[]): string[] => lines.filter(line => /^EXRULE\b/i.test(line))

/**
 * Finds the new name of a member. A rule such as the second Monday does not move by the same time in each month, so the
 * nth member of a series that moves becomes the nth.
 */
function memberMove(
  before: Series,
  after: Series,
  members: readonly string[],
  isMovedAlone: boolean,
): (member: string) => string | null {
  if (isMovedAlone && before.start.wall === after.start.wall) return member => member
  const shift = { from: before.start, to: after.start }
  const moved = new Map(members.map(member => [member, shiftWall(member, shift)]))
  const hits = findHits(after, [...moved.values()])
  const missing = members.filter(member => !hits.has(moved.get(member)!))
  if (!isMovedAlone) return member => (hits.has(moved.get(member)!) ? moved.get(member)! : null)
  const counted = countMembers(before, after, missing)
  // An exception that was no member before stays one.
  return member => counted.get(member) ?? moved.get(member)!
}

/** The nth members of one series by the nth members of another, as far as they are asked for. */
function countMembers(before: Series, after: Series, members: readonly string[]): Map<string, string> {
  const found = new Map<string, string>()
  const last = members.toSorted().at(-1)
  if (last === undefined) return found
  const print = isDay(before.start.wall) ? printDay : printWall
  const to = print(requireWall(last) + DAY_MS)
  const { members: old } = expand({ start: before.start, lines: before.lines, from: before.start.wall, to })
  const bounds = { periods: PERIODS_MAX, members: old.length }
  const end = print(WALL_TIME_END - DAY_MS)
  const { members: next } = expand(
    { start: after.start, lines: after.lines, from: after.start.wall, to: end },
    bounds,
  )
  const places = new Map(old.map(({ wall }, index) => [wall, index]))
  for (const member of members) {
    const place = places.get(member)
    const other = place === undefined ? undefined : next[place]?.wall
    if (other !== undefined) found.set(member, other)
  }
  return found
}
