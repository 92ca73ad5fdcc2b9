import type { CheckedRecurrence } from '../kit/recurrence/check-recurrence.ts'
import { expand } from '../kit/recurrence/expand.ts'
import { findHits } from '../kit/recurrence/hits.ts'
import { printRecurrence } from '../kit/recurrence/recurrence-lines.ts'
import { shiftWall } from '../kit/recurrence/shift-rule.ts'
import { shiftSeries, type ZoneNames } from '../kit/recurrence/shift-series.ts'
import { PERIODS_MAX } from '../kit/recurrence/walk-rule.ts'
import type { Series } from '../kit/recurrence/split-series.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../kit/wall-clock.ts'
import { ProviderFailure } from './failure.ts'
import { changeFrom, type EventTimes, newTimes } from './new-times.ts'

/* The members of a series after a change of its times or of its rule. */

export interface SeriesState {
  /** The start and end of its first member. */
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
 * @param names by which a file names zones
 * @returns null if the rule cannot move to the new start
 * @throws ProviderFailure `not_found` if the series does not have the member: it would move twice if the same change
 * was made again
 */
export function changeSeries(
  state: SeriesState,
  change: Partial<EventTimes> & { recurrence?: CheckedRecurrence },
  timesOf: string | null = null,
  names: ZoneNames = {},
): ChangedSeries | null {
  if (lacksMember(state, change, timesOf))
    throw new ProviderFailure('not_found', 'The series no longer has this occurrence.')
  const times = newTimes(state.times, change, timesOf)
  const series: Series = { start: state.times.start, lines: state.lines, taken: state.taken }
  const { recurrence } = change
  const moved = recurrence
    ? {
        start: times.start,
        // A caller can give no EXRULE, so one that another program wrote stays.
        lines: [...printRecurrence(recurrence, times.start, names.tzid), ...exclusionsOf(state.lines)],
        taken: [],
        isExact: true,
      }
    : shiftSeries(series, times.start, names)
  if (!moved) return null
  const { lines } = moved
  const [from, to] = [series.start, times.start]
  const isMovedAlone = !recurrence && from.zone === to.zone && isDay(from.wall) === isDay(to.wall)
  const members = [...state.taken, ...state.exceptions]
  const move = moved.isExact
    ? shiftMembers(series, moved, members, isMovedAlone)
    : countMembers(series, moved, members, isMovedAlone)
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

/** As `changeFrom`. @throws ProviderFailure `not_found` if the series was moved to another place meanwhile */
export function requireChangeFrom(...given: Parameters<typeof changeFrom>) {
  const change = changeFrom(...given)
  if (change) return change
  throw new ProviderFailure('not_found', 'The series was moved meanwhile.')
}

/** Whether a change has the times of a member that the series does not have. A single has only its start. */
export function lacksMember(
  state: SeriesState,
  change: Partial<EventTimes>,
  timesOf: string | null,
): timesOf is string {
  return timesOf !== null && Boolean(change.start ?? change.end) && !hasMember(state, timesOf)
}

function hasMember({ times: { start }, lines, taken, exceptions }: SeriesState, member: string): boolean {
  if (exceptions.includes(member)) return true
  if (isDay(member) !== isDay(start.wall)) return false
  if (taken.includes(member) || taken.includes(member.slice(0, 8))) return false
  return findHits({ start, lines }, [member]).has(member)
}

const exclusionsOf = (lines: readonly string[]): string[] => lines.filter(line => /^EXRULE\b/i.test(line))

/** Finds the new name of a member; null if it hits none. A member that was none before stays one if the series only moves. */
type MoveMember = (member: string) => string | null

/** Members that move by the difference between the starts. */
function shiftMembers(
  before: Series,
  after: Series,
  members: readonly string[],
  isMovedAlone: boolean,
): MoveMember {
  const shift = { from: before.start, to: after.start }
  const moved = new Map(members.map(member => [member, shiftWall(member, shift)]))
  if (isMovedAlone) return member => moved.get(member)!
  const hits = findHits(after, [...moved.values()])
  return member => (hits.has(moved.get(member)!) ? moved.get(member)! : null)
}

/** The nth members of one series become the nth of another. */
function countMembers(
  before: Series,
  after: Series,
  members: readonly string[],
  isMovedAlone: boolean,
): MoveMember {
  const shift = { from: before.start, to: after.start }
  const last = members.toSorted().at(-1) ?? before.start.wall
  const print = isDay(before.start.wall) ? printDay : printWall
  const to = print(Math.min(requireWall(last) + DAY_MS, WALL_TIME_END - DAY_MS))
  const old = expand({ start: before.start, lines: before.lines, from: before.start.wall, to }).members
  const end = (isDay(after.start.wall) ? printDay : printWall)(WALL_TIME_END - DAY_MS)
  const next = expand(
    { start: after.start, lines: after.lines, from: after.start.wall, to: end },
    { periods: PERIODS_MAX, members: Math.max(1, old.length) },
  ).members
  const named = new Map<string, string>()
  for (const [nth, { wall }] of old.entries()) {
    const other = next[nth]?.wall
    if (other === undefined) continue
    named.set(wall, other)
    named.set(wall.slice(0, 8), other.slice(0, 8))
  }
  return member => named.get(member) ?? (isMovedAlone ? shiftWall(member, shift) : null)
}
