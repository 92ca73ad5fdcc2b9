import { expand } from '../../../../kit/recurrence/expand.ts'
import { type NthWeekday, readRule, type Rule } from '../../../../kit/recurrence/rule.ts'
import { readUntil } from '../../../../kit/recurrence/until.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../../../../kit/wall-clock.ts'
import type { EventTime } from '../../../calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { recurrenceSchema, ruleOf } from '../recurrence.ts'
import { dateOf } from './times.ts'

/* Rules as patterns of Exchange (learn.microsoft.com/graph/api/resources/recurrencepattern). */

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const
const INDEXES: ReadonlyMap<number, string> = new Map([
  [1, 'first'],
  [2, 'second'],
  [3, 'third'],
  [4, 'fourth'],
  [-1, 'last'],
])
const INTERVAL_MAX = 999
const OCCURRENCES_MAX = 999
const SURE_DAY = 28

/** The time and the members of a series in which its rule and its pattern are compared. */
const COMPARED_DAYS = 60 * 366
const COMPARED_MAX = 1_000

export interface WrittenPattern {
  type: string
  interval: number
  month?: number
  dayOfMonth?: number
  daysOfWeek?: readonly string[]
  firstDayOfWeek?: string
  index?: string
}

/** A recurrence as it is written to Graph. */
export interface WrittenRecurrence {
  pattern: WrittenPattern
  range: {
    type: 'noEnd' | 'endDate' | 'numbered'
    startDate: string
    endDate?: string
    numberOfOccurrences?: number
    recurrenceTimeZone: string
  }
}

/**
 * The recurrence of the lines of a series. Throws `unsupported` if Exchange has no pattern with the same members.
 * @param zoneName the name of the zone of the start at Exchange
 */
export function requirePattern(
  lines: readonly string[],
  start: EventTime,
  zoneName: string,
): WrittenRecurrence {
  const [line, ...others] = lines
  const written = line && others.length === 0 ? patternOf(line, start, zoneName) : null
  if (written) return written
  throw new ProviderFailure('unsupported', 'Exchange has no pattern for this recurrence.')
}

function patternOf(line: string, start: EventTime, zoneName: string): WrittenRecurrence | null {
  const rule = /^RRULE:/i.test(line) ? readRule(line.slice('RRULE:'.length)) : null
  const pattern = rule && readPattern(rule, start)
  const range = rule && rangeOf(rule, start)
  if (!rule || !pattern || !range || rule.interval > INTERVAL_MAX) return null
  const written = { pattern, range: { ...range, recurrenceTimeZone: zoneName } }
  const given = ruleOf(recurrenceSchema.parse(written), start)
  // A part of the rule that the pattern lacks shows in the members.
  return given !== null && hasSameMembers(line, given, start) ? written : null
}

function readPattern(rule: Rule, { wall }: EventTime): WrittenPattern | null {
  const { frequency, interval, weekdays, monthDays, positions } = rule
  const date = new Date(requireWall(wall))
  const isCounted = weekdays?.some(({ nth }) => nth !== 0) ?? false
  if (frequency === 'DAILY') {
    if (!weekdays) return { type: 'daily', interval }
    return interval === 1 ? weekly(1, weekdays, rule.weekStart) : null
  }
  if (frequency === 'WEEKLY')
    return weekly(interval, weekdays ?? [{ weekday: date.getUTCDay(), nth: 0 }], rule.weekStart)
  if (frequency !== 'MONTHLY' && frequency !== 'YEARLY') return null
  const [suffix, month] =
    frequency === 'MONTHLY'
      ? (['Monthly', undefined] as const)
      : (['Yearly', rule.months?.[0] ?? date.getUTCMonth() + 1] as const)
  const base = { interval, ...(month !== undefined && { month }) }
  if (weekdays) {
    const index = INDEXES.get(isCounted ? weekdays[0]!.nth : (positions?.[0] ?? 0))
    const daysOfWeek = weekdays.map(({ weekday }) => DAYS[weekday]!)
    return index === undefined ? null : { type: `relative${suffix}`, ...base, daysOfWeek, index }
  }
  const dayOfMonth = monthDayOf(monthDays, positions) ?? date.getUTCDate()
  return { type: `absolute${suffix}`, ...base, dayOfMonth }
}

const weekly = (interval: number, weekdays: readonly NthWeekday[], weekStart: number): WrittenPattern => ({
  type: 'weekly',
  interval,
  daysOfWeek: weekdays.map(({ weekday }) => DAYS[weekday]!),
  firstDayOfWeek: DAYS[weekStart]!,
})

/** Exchange takes the last day of a month that lacks the one of the pattern. */
function monthDayOf(monthDays: Rule['monthDays'], positions: Rule['positions']): number | null {
  if (!monthDays) return null
  if (monthDays.length === 1) return monthDays[0] === -1 ? 31 : monthDays[0]! > 0 ? monthDays[0]! : null
  return monthDays[0] === SURE_DAY && positions?.[0] === -1 ? monthDays.at(-1)! : null
}

function rangeOf(
  rule: Rule,
  start: EventTime,
): Omit<WrittenRecurrence['range'], 'recurrenceTimeZone'> | null {
  const startDate = dateOf(start.wall)
  if (rule.count !== null)
    return rule.count > OCCURRENCES_MAX
      ? null
      : { type: 'numbered', startDate, numberOfOccurrences: rule.count }
  if (rule.until === null) return { type: 'noEnd', startDate }
  const until = readUntil(rule.until, start)
  if (!until) return null
  const time = requireWall(start.wall) % DAY_MS
  const last = until.lastInstant === null ? until.end - 1 : until.end - DAY_MS
  const day = Math.floor((last - time) / DAY_MS) * DAY_MS
  return day < requireWall(start.wall.slice(0, 8))
    ? null
    : { type: 'endDate', startDate, endDate: dateOf(printDay(day)) }
}

function hasSameMembers(one: string, other: string, start: EventTime): boolean {
  const print = isDay(start.wall) ? printDay : printWall
  const to = print(Math.min(requireWall(start.wall) + COMPARED_DAYS * DAY_MS, WALL_TIME_END - DAY_MS))
  const bounds = { periods: 10 * COMPARED_MAX, members: COMPARED_MAX }
  const [left, right] = [one, other].map(line =>
    expand({ lines: [line], start, from: start.wall, to }, bounds)
      .members.map(({ wall }) => wall)
      .join(),
  )
  return left === right
}
