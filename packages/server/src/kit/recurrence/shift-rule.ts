import {
  DAY_MS,
  isDay,
  printDay,
  printWall,
  requireWall,
  WALL_TIME_END,
  WALL_TIME_MIN,
} from '../wall-clock.ts'
import { toWall } from '../zones/zones.ts'
import { dayOf } from './days.ts'
import { expandRule } from './expand.ts'
import type { SeriesStart } from './member.ts'
import { type ChangedParts, daysOffMax, waysToMoveDays } from './move-days.ts'
import { printUntil, withParts } from './recurrence-lines.ts'
import { readParts, readRule } from './rule.ts'
import { readUntil } from './until.ts'
import { PERIODS_MAX } from './walk-rule.ts'

/** A start that another one takes the place of. */
export interface Shift {
  from: SeriesStart
  to: SeriesStart
}

/** A rule at another start. */
export interface ShiftedRule {
  value: string
  /** Whether each member has moved by the difference between the starts. Otherwise the nth member has become the nth. */
  isExact: boolean
}

/** The days between two starts, and the time of day between them in milliseconds. */
function differenceOf({ from, to }: Shift): { days: number; time: number } {
  const days = dayOf(requireWall(to.wall)) - dayOf(requireWall(from.wall))
  return { days, time: requireWall(to.wall) - requireWall(from.wall) - days * DAY_MS }
}

/**
 * A wall clock that is later by the difference between two starts, as a day if the new start is one. A day that names the
 * members of that day in a series with times stays a day.
 */
export function shiftWall(wall: string, shift: Shift): string {
  const { days, time } = differenceOf(shift)
  const isOfDay = isDay(shift.to.wall) || (isDay(wall) && !isDay(shift.from.wall))
  const moved = requireWall(wall) + days * DAY_MS + (isOfDay ? 0 : time)
  const kept = Math.min(Math.max(moved, WALL_TIME_MIN), WALL_TIME_END - 1_000)
  return isOfDay ? printDay(kept) : printWall(kept)
}

/**
 * The value of a rule whose series moves to another start: days of the week, of the month and times move along, and so does
 * UNTIL. A rule that cannot be read gives nothing, and stays.
 * @param isStartCounted whether the start counts for COUNT: not that of an EXRULE
 * @returns null if no rule like it has as many members that lie alike: a series on the 31st does not move to the 30th, for
 * instance, since it would have more
 */
export function shiftRule(value: string, shift: Shift, isStartCounted: boolean): ShiftedRule | null {
  const parts = readParts(value)
  const rule = readRule(value)
  const isRead = rule !== null && (rule.until === null || readUntil(rule.until, shift.from) !== null)
  if (!parts || !isRead) return { value, isExact: true }
  const times = moveTimes(parts, shift)
  if (times === null) return null
  const before = membersOf(value, shift.from, isStartCounted)
  const [first, next] = [requireWall(shift.from.wall), requireWall(shift.to.wall)]
  const start = { from: dayOf(first), to: dayOf(next), isGiven: before.members[0] === first }
  const bearable = daysOffMax(parts)
  for (const ways of waysToMoveDays(parts, start)) {
    let best: ShiftedRule | null = null
    for (const days of ways) {
      const changes = { ...times, ...days }
      const off = daysOff(
        before.members,
        withParts(value, { ...changes, UNTIL: null }),
        shift,
        isStartCounted,
      )
      if (off === null || off > bearable || (best && off > 0)) continue
      const isExact = off === 0
      const until = moveUntil(value, changes, { shift, before, isStartCounted, isExact })
      if (until === null) continue
      best = { value: change(value, parts, { ...changes, ...until }), isExact }
      if (isExact) break
    }
    if (best) return best
  }
  return null
}

function change(value: string, parts: ReadonlyMap<string, string>, changes: ChangedParts): string {
  const isSame = Object.entries(changes).every(([name, text]) => (parts.get(name) ?? null) === text)
  return isSame ? value : withParts(value, changes)
}

/** Members and years of a rule that are compared. The weekdays of dates repeat after 28 years. */
const COMPARED_MAX = 4_000
const COMPARED_YEARS = { bounded: 100, endless: 30 }

interface RuleMembers {
  members: readonly number[]
  /** Whether these are all that the rule gives. */
  isComplete: boolean
}

function membersOf(
  value: string,
  start: SeriesStart,
  isStartCounted: boolean,
  max = COMPARED_MAX,
): RuleMembers {
  const { count, until: text } = readRule(value)!
  const until = text === null ? null : readUntil(text, start)
  const from = requireWall(start.wall)
  const years = until || count !== null ? COMPARED_YEARS.bounded : COMPARED_YEARS.endless
  const to = Math.min(from + years * 366 * DAY_MS, WALL_TIME_END)
  const window = { start: from, from, to, isStartCounted }
  const { members, isTruncated } = expandRule(value, start, window, { periods: PERIODS_MAX, members: max })
  const extra = isStartCounted && members[0] !== from ? 1 : 0
  const isOver = until ? until.end <= to : count !== null && members.length + extra >= count
  return { members, isComplete: isOver && !isTruncated }
}

/** The most days by which members are off the difference between the starts; null if they do not correspond. */
function daysOff(
  before: readonly number[],
  value: string,
  shift: Shift,
  isStartCounted: boolean,
): number | null {
  const [first, next] = [requireWall(shift.from.wall), requireWall(shift.to.wall)]
  const from = next
  const last = before.at(-1) ?? first
  const to = Math.min(last + next - first + 100 * DAY_MS, WALL_TIME_END)
  const window = { start: from, from, to, isStartCounted }
  const bounds = { periods: PERIODS_MAX, members: Math.max(1, before.length) }
  const { members } = expandRule(value, shift.to, window, bounds)
  if (members.length < before.length || (members[0] === next) !== (before[0] === first)) return null
  const { days, time } = differenceOf(shift)
  const moved = (member: number) =>
    (isDay(shift.to.wall) ? dayOf(member) * DAY_MS : member + time) + days * DAY_MS
  return (
    before.reduce((off, member, nth) => Math.max(off, Math.abs(members[nth]! - moved(member))), 0) / DAY_MS
  )
}

/** @returns null if the parts for times cannot move along */
function moveTimes(parts: ReadonlyMap<string, string>, { from, to }: Shift): ChangedParts | null {
  const names = ['BYHOUR', 'BYMINUTE', 'BYSECOND']
  // On days, these parts say nothing.
  if (isDay(to.wall) || isDay(from.wall)) {
    const given = names.filter(name => parts.has(name))
    return Object.fromEntries(given.map(name => [name, null]))
  }
  const units = (wall: string) => [9, 11, 13].map(at => Number(wall.slice(at, at + 2)))
  const [before, after] = [units(from.wall), units(to.wall)]
  const changes: ChangedParts = {}
  for (const [unit, name] of names.entries()) {
    const moved = parts
      .get(name)
      ?.split(',')
      .map(number => Number(number) + after[unit]! - before[unit]!)
    if (!moved || after[unit] === before[unit]) continue
    if (moved.some(number => number < 0 || number > (unit === 0 ? 23 : 59))) return null
    changes[name] = moved.join(',')
  }
  return changes
}

/** The UNTIL with which a moved rule has as many members as before; null if there is none. */
function moveUntil(
  value: string,
  changes: ChangedParts,
  {
    shift,
    before,
    isStartCounted,
    isExact,
  }: {
    shift: Shift
    before: RuleMembers
    isStartCounted: boolean
    isExact: boolean
  },
): ChangedParts | null {
  const text = readRule(value)!.until
  if (text === null) return {}
  const { from, to } = shift
  const isUtc = text.endsWith('Z')
  const written = isUtc ? text.slice(0, -1) : text
  const last = isDay(from.wall) ? written.slice(0, 8) : isDay(written) ? `${written}T235959` : written
  // An UNTIL at the end of the calendar ends nothing.
  if (requireWall(last) >= WALL_TIME_END - 800 * DAY_MS)
    return { UNTIL: isDay(to.wall) ? text.slice(0, 8) : text }
  const wall = isUtc && !isDay(from.wall) && from.zone !== null ? toWall(requireWall(last), from.zone) : last
  const moved = printUntil(shiftWall(wall, shift), to)
  if (!before.isComplete) return isExact ? { UNTIL: moved } : null
  const count = before.members.length
  const membersWith = (UNTIL: string | null) =>
    membersOf(withParts(value, { ...changes, UNTIL }), to, isStartCounted, count + 1).members
  if (membersWith(moved).length === count) return { UNTIL: moved }
  const end = count === 0 ? undefined : membersWith(null)[count - 1]
  if (end === undefined) return null
  const atLast = printUntil(isDay(to.wall) ? printDay(end) : printWall(end), to)
  return membersWith(atLast).length === count ? { UNTIL: atLast } : null
}
