import { readLine } from '../content-lines/content-line.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall } from '../wall-clock.ts'
import type { SeriesStart } from './member.ts'
import { readRecurrenceDates } from './recurrence-dates.ts'
import { readRule } from './rule.ts'
import { isWithin, readUntil } from './until.ts'
import { type Budget, MEMBERS_MAX, PERIODS_MAX, type RuleWalk, walkRule } from './walk-rule.ts'

export interface Expansion {
  /** RRULE, EXRULE and RDATE, as content lines without folds. A line that cannot be read gives nothing. */
  lines: readonly string[]
  start: SeriesStart
  /** Wall clocks in the zone of the series: members from the first one up to, but not including, the second are given. */
  from: string
  to: string
}

export interface Member {
  /** A day if the start is one. */
  wall: string
  /** Null: as long as the series says. An RDATE with a period has its own end. */
  end: string | null
}

/** Bounds of what is expanded of a series. */
export interface Bounds {
  periods: number
  members: number
}

const ALL: Bounds = { periods: PERIODS_MAX, members: MEMBERS_MAX }

/** More lines of a series are not read, and more rules among them are not followed. */
const LINES_MAX = 10_000
const RULES_MAX = 20

/**
 * The members of a series, ascending: DTSTART, what RRULE and RDATE give, and nothing that EXRULE gives (RFC 5545 sections
 * 3.8.5.2 and 3.8.5.3). All is calculated in wall clocks, so members in a gap exist and count. `isTruncated`: a bound
 * was reached, so members may be missing. A caller may set tighter bounds than those that every series has.
 * @throws RangeError if a wall clock or the zone is none
 */
export function expand(
  { lines, start, from, to }: Expansion,
  bounds: Bounds = ALL,
): { members: Member[]; isTruncated: boolean } {
  const window = { start: requireWall(start.wall), from: requireWall(from), to: requireWall(to) }
  const isWanted = (time: number) => time >= window.from && time < window.to
  const contents = lines.slice(0, LINES_MAX).flatMap(line => readLine(line) ?? [])
  const budget: Budget = { ...bounds }
  let isTruncated = lines.length > LINES_MAX
  let rules = 0

  /** Ends by wall times. */
  const found = new Map<number, string | null>()
  if (isWanted(window.start)) found.set(window.start, null)
  const add = (name: 'RRULE' | 'EXRULE', take: (time: number) => void) => {
    for (const { value } of contents.filter(content => content.name === name)) {
      if (++rules > RULES_MAX) {
        isTruncated = true
        return
      }
      const given = expandRule(value, start, { ...window, isStartCounted: name === 'RRULE' }, budget)
      isTruncated ||= given.isTruncated
      for (const time of given.members) take(time)
    }
  }
  add('RRULE', time => found.set(time, null))
  const dates = readRecurrenceDates(contents, start)
  isTruncated ||= dates.isTruncated
  for (const { time, end } of dates.members)
    if (isWanted(time)) found.set(time, end ?? found.get(time) ?? null)
  add('EXRULE', time => found.delete(time))

  const print = isDay(start.wall) ? printDay : printWall
  const sorted = [...found].toSorted(([a], [b]) => a - b)
  const members = sorted.slice(0, bounds.members).map(([time, end]) => ({ wall: print(time), end }))
  return { members, isTruncated: isTruncated || sorted.length > bounds.members }
}

const NOTHING = { members: [], isTruncated: false }

/** The wall times that a rule gives in a window, up to its UNTIL. A rule that cannot be read gives nothing. */
export function expandRule(
  value: string,
  start: SeriesStart,
  window: RuleWalk,
  budget: Budget,
): { members: number[]; isTruncated: boolean } {
  const rule = readRule(value)
  const until = rule?.until ? readUntil(rule.until, start) : undefined
  if (!rule || until === null) return NOTHING
  const { frequency } = rule
  const isOfDays = isDay(start.wall)
  if (isOfDays && (frequency === 'HOURLY' || frequency === 'MINUTELY' || frequency === 'SECONDLY'))
    return NOTHING
  // Parts for times are ignored on days (RFC 5545 section 3.3.10).
  const fitting = isOfDays ? { ...rule, hours: null, minutes: null, seconds: null } : rule
  if (!until) return walkRule(fitting, window, budget)
  const { members, isTruncated } = walkRule(
    fitting,
    { ...window, to: Math.min(window.to, until.end) },
    budget,
  )
  // Only the last day needs conversions.
  const isKept = (time: number) => time < until.end - 2 * DAY_MS || isWithin(until, printWall(time), start)
  return { members: members.filter(isKept), isTruncated }
}
