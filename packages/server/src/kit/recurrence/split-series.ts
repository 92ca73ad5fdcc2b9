import { type ContentLine, readLine } from '../content-lines/content-line.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../wall-clock.ts'
import { expand, type Expansion } from './expand.ts'
import { type SeriesStart, toMember } from './member.ts'
import { printUntil, withParts, withValue } from './recurrence-lines.ts'
import { fillRule } from './fill-rule.ts'
import { toInstant, toWall } from '../zones/zones.ts'
import { readRule } from './rule.ts'
import { isWithin, readUntil } from './until.ts'
import { PERIODS_MAX, walkRule } from './walk-rule.ts'

/* Splitting a series at one of its members. */

/** A series as far as its members go. */
export interface Series {
  start: SeriesStart
  /** RRULE, EXRULE and RDATE, as content lines without folds. */
  lines: readonly string[]
  /** Members that were taken, as `toMember` has them. A day on a series with times takes every member of that day. */
  taken: readonly string[]
}

export interface SplitSeries {
  before: Series
  /** The series that begins at the member. */
  after: Series
}

/** Resolves the TZID of a line, as `toMember` has it. */
export type ZoneOf = (tzid: string) => string | null

/** The longest time for which the two parts are compared with the series. */
const COMPARED_DAYS = 5 * 366
/** Members that are compared even if they lie later. */
const FIRST_COMPARED = 3
const FIRST_DAYS = 2
const COUNTED_MAX = 1_000_000

/** Whether a member, or a day whose members are taken, lies in the part of a series that begins at another member. */
export function isFrom(member: string, split: string): boolean {
  return isDay(member) ? member >= split.slice(0, 8) : member >= split
}

/**
 * Splits a series at a member: the first part ends at the last member before it, with UNTIL in place of COUNT, and the
 * second one begins at it, with the rest of COUNT. RDATEs and taken members go to their part. So do exceptions, by `isFrom`.
 * @param split a member of the series that is not its first
 * @returns null if it is none, if a bound is reached, or if no rule that begins at the member gives the members after it:
 * it is an RDATE between the members of a rule, for instance, or a time that clocks skip in its zone
 */
export function splitSeries(series: Series, split: string, zoneOf?: ZoneOf): SplitSeries | null {
  const before = truncateSeries(series, split, zoneOf)
  const { zone } = series.start
  // A series that begins in a gap has all its members behind it, for some programs.
  if (!before || isInGap(split, zone)) return null
  const start = { wall: split, zone }
  const rest = restOf(series, start, zoneOf)
  if (!rest) return null
  const lines = rest.length > 0 ? rest : ['RRULE:FREQ=DAILY;COUNT=1']
  const after = { start, lines, taken: series.taken.filter(member => isFrom(member, split)) }
  return isEqualFrom(split, series, after) ? { before, after } : null
}

/**
 * The part of a series before one of its members, which ends at the last member before it.
 * @returns null if the member is the first one or none, or if a bound is reached
 */
export function truncateSeries(series: Series, split: string, zoneOf?: ZoneOf): Series | null {
  const { start } = series
  const last = lastBefore(series, split)
  if (last === null || !isMember(series, split)) return null
  const until = printUntil(last, start)
  const lines: string[] = []
  for (const text of series.lines) {
    const line = readLine(text)
    if (line?.name === 'RRULE') {
      const past = pastOf(line, start, split)
      if (past === 'unknown') return null
      const goesOn = past !== null && !past.hasEnded
      lines.push(goesOn ? withValue(line, withParts(line.value, { COUNT: null, UNTIL: until })) : text)
    } else if (line?.name === 'RDATE')
      lines.push(...keepDates(text, line, start, wall => !isFrom(wall, split), zoneOf))
    else lines.push(text)
  }
  const taken = series.taken.filter(
    member => !isFrom(member, split) || (isDay(member) && !isDay(split) && split.startsWith(member)),
  )
  const kept = { start, lines, taken }
  // At a change of the offset, two members may have the same instant, between which no UNTIL in UTC lies.
  const later = expand({ ...kept, from: split, to: laterBy(split, FIRST_DAYS * DAY_MS) })
  if (later.isTruncated) return null
  return { ...kept, taken: [...new Set([...taken, ...later.members.map(({ wall }) => wall)])] }
}

/** The lines that give the members from a new start on; empty if the start is the only one. Null if a bound is reached. */
function restOf({ start, lines }: Series, next: SeriesStart, zoneOf: ZoneOf | undefined): string[] | null {
  const rest: string[] = []
  for (const text of lines) {
    const line = readLine(text)
    if (line?.name === 'RDATE') {
      const isKept = (wall: string, isPeriod: boolean) =>
        isFrom(wall, next.wall) && (isPeriod || wall !== next.wall)
      rest.push(...keepDates(text, line, start, isKept, zoneOf))
    } else if (line?.name === 'RRULE' || line?.name === 'EXRULE') {
      const value = restOfRule(line, start, next)
      if (value === null) return null
      if (value !== '') rest.push(value)
    } else rest.push(text)
  }
  return rest
}

/** The line of a rule from a new start on; empty if it has ended. Null if a bound is reached. */
function restOfRule(line: ContentLine, start: SeriesStart, next: SeriesStart): string | null {
  const past = pastOf(line, start, next.wall)
  if (past === 'unknown') return null
  if (past === null || past.hasEnded) return ''
  const value = past.isGiven ? line.value : fillRule(line.value, start, next)
  if (past.left === null) return withValue(line, value)
  // A start that the rule does not give counts as well.
  const isStartExtra = line.name === 'RRULE' && !past.isGiven
  return withValue(line, withParts(value, { COUNT: String(past.left + (isStartExtra ? 1 : 0)) }))
}

/** The part of a rule before a member. */
interface Past {
  /** Whether it gives nothing from the member on. */
  hasEnded: boolean
  /** Whether it gives the member. */
  isGiven: boolean
  /** The rest of COUNT, with the member; null without COUNT. */
  left: number | null
}

/** Null: the rule cannot be read, and gives nothing. */
function pastOf(line: ContentLine, start: SeriesStart, member: string): Past | 'unknown' | null {
  const read = readRule(line.value)
  if (!read) return null
  const rule = isDay(start.wall) ? { ...read, hours: null, minutes: null, seconds: null } : read
  const until = rule.until === null ? null : readUntil(rule.until, start)
  const isOver = until !== null && (requireWall(member) >= until.end || !isWithin(until, member, start))
  const [first, time] = [requireWall(start.wall), requireWall(member)]
  const walkOf = (from: number, to: number) =>
    walkRule(
      rule,
      { start: first, from, to, isStartCounted: line.name === 'RRULE' },
      { periods: PERIODS_MAX, members: COUNTED_MAX },
    )
  const given = walkOf(rule.count === null ? time : first, time + 1)
  if (given.isTruncated) return 'unknown'
  const isGiven = given.members.at(-1) === time
  if (rule.count === null) return { hasEnded: isOver, isGiven, left: null }
  // A start that the rule does not give counts as one of it (RFC 5545 section 3.8.5.3).
  const isStartExtra = line.name === 'RRULE' && given.members[0] !== first
  const left = rule.count - (given.members.length - (isGiven ? 1 : 0) + (isStartExtra ? 1 : 0))
  return { hasEnded: isOver || left <= 0, isGiven, left }
}

/** A line of RDATEs with the members that are kept; nothing if none is. Values that cannot be read stay. */
function keepDates(
  text: string,
  line: ContentLine,
  start: SeriesStart,
  isKept: (wall: string, isPeriod: boolean) => boolean,
  zoneOf: ZoneOf | undefined,
): string[] {
  const values = line.value.split(',')
  const kept = values.filter(value => {
    const [first = '', last] = value.split('/')
    const member = toMember(first, line.parameters, start, zoneOf)
    return member === null || isKept(usualWall(member, start), last !== undefined)
  })
  if (kept.length === values.length) return [text]
  return kept.length > 0 ? [withValue(line, kept.join(','))] : []
}

/** A day on a series with times names its usual time. */
function usualWall(member: string, { wall }: SeriesStart): string {
  return isDay(member) && !isDay(wall) ? `${member}${wall.slice(8)}` : member
}

function isMember(series: Series, member: string): boolean {
  const { members } = expand({ ...series, from: member, to: laterBy(member, isDay(member) ? DAY_MS : 1_000) })
  return members.some(({ wall }) => wall === member)
}

/** The last member before another one; null if there is none, or a bound is reached. */
function lastBefore(series: Series, split: string): string | null {
  const first = requireWall(series.start.wall)
  const to = requireWall(split)
  for (let days = FIRST_DAYS; days * DAY_MS < WALL_TIME_END * 2; days *= 8) {
    const from = Math.max(first, to - days * DAY_MS)
    if (from >= to) return null
    const { members, isTruncated } = expand({ ...series, from: print(from, split), to: split })
    if (isTruncated) return null
    if (members.length > 0) return members.at(-1)!.wall
  }
  return null
}

/** Whether clocks skip a time. */
function isInGap(wall: string, zone: string | null): boolean {
  return !isDay(wall) && zone !== null && toWall(toInstant(wall, zone), zone) !== wall
}

/** Whether two series have the same members from one on, as far as they are compared. */
function isEqualFrom(from: string, one: Series, other: Series): boolean {
  return isEqualNear(from, one, other) && isEqualFirst(from, one, other)
}

/** Compares the first members, whenever they are. */
function isEqualFirst(from: string, ...both: [Series, Series]): boolean {
  // The first members of an EXRULE exclude too few.
  if (both.some(({ lines }) => lines.some(line => /^EXRULE\b/i.test(line)))) return true
  const range = { from, to: print(WALL_TIME_END - DAY_MS, from) }
  const [left, right] = both.map(({ start, lines }) =>
    expand({ start, lines, ...range }, { periods: PERIODS_MAX, members: FIRST_COMPARED }).members.map(
      ({ wall }) => wall,
    ),
  )
  return left!.join() === right!.join()
}

function isEqualNear(from: string, one: Series, other: Series): boolean {
  for (let days = COMPARED_DAYS; days > 1; days /= 4) {
    const range = { from, to: laterBy(from, Math.ceil(days) * DAY_MS) }
    const [a, b] = [one, other].map(({ start, lines }) =>
      expand({ start, lines, ...range } satisfies Expansion),
    )
    if (a!.isTruncated || b!.isTruncated) continue
    const [left, right] = [a!, b!].map(({ members }) => members.map(({ wall, end }) => `${wall}/${end}`))
    return left!.join() === right!.join()
  }
  return false
}

const print = (time: number, like: string): string => (isDay(like) ? printDay(time) : printWall(time))

function laterBy(wall: string, milliseconds: number): string {
  return print(Math.min(requireWall(wall) + milliseconds, WALL_TIME_END - DAY_MS), wall)
}
