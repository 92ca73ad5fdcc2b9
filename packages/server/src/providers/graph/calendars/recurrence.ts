import { z } from 'zod'
import { isDay, printWall, readWall, WALL_TIME_END } from '../../../kit/wall-clock.ts'
import { toInstant } from '../../../kit/zones/zones.ts'
import type { EventTime } from '../../calendars.ts'
import { firstOf, text } from '../resources.ts'

const DAYS_OF_WEEK_MAX = 7
const word = z.string().transform(name => name.toLowerCase())
const number = z.int().nullish().catch(null)

/** A recurrence (learn.microsoft.com/graph/api/resources/patternedrecurrence). */
export const recurrenceSchema = z.object({
  pattern: z.object({
    type: word,
    interval: z.int().min(1).max(10_000),
    month: number,
    dayOfMonth: number,
    daysOfWeek: firstOf(word, DAYS_OF_WEEK_MAX).nullish(),
    firstDayOfWeek: word.nullish(),
    index: word.nullish(),
  }),
  range: z.object({
    type: word,
    endDate: text,
    numberOfOccurrences: number,
    recurrenceTimeZone: text,
  }),
})
export type GraphRecurrence = z.infer<typeof recurrenceSchema>
type Pattern = GraphRecurrence['pattern']

const WEEKDAYS = new Set(['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'])
const POSITIONS: ReadonlyMap<string, number> = new Map([
  ['first', 1],
  ['second', 2],
  ['third', 3],
  ['fourth', 4],
  ['last', -1],
])
/** A day that every month has. */
const SURE_DAY = 28
const MONTH_DAYS_MAX = 31

/** The rule of a recurrence (RFC 5545 section 3.3.10); null if it has a form that is not known. */
export function ruleOf({ pattern, range }: GraphRecurrence, start: EventTime): string | null {
  const parts = partsOf(pattern)
  const end = endOf(range, start)
  if (parts === null || end === null) return null
  return `RRULE:${[...parts, `INTERVAL=${pattern.interval}`, ...end].join(';')}`
}

function partsOf(pattern: Pattern): string[] | null {
  const [, kind = '', every = pattern.type] = /^(absolute|relative)(monthly|yearly)$/.exec(pattern.type) ?? []
  if (every === 'daily') return ['FREQ=DAILY']
  if (every === 'weekly') {
    const days = daysOf(pattern.daysOfWeek ?? [])
    const [weekStart] = daysOf([pattern.firstDayOfWeek ?? 'sunday']) ?? ['SU']
    return days && ['FREQ=WEEKLY', `BYDAY=${days.join(',')}`, `WKST=${weekStart}`]
  }
  const within = kind === 'absolute' ? monthDay(pattern) : weekdays(pattern)
  if (kind === '' || within === null) return null
  if (every === 'monthly') return ['FREQ=MONTHLY', ...within]
  const { month } = pattern
  const isMonth = typeof month === 'number' && month >= 1 && month <= 12
  return isMonth ? ['FREQ=YEARLY', `BYMONTH=${month}`, ...within] : null
}

function daysOf(names: readonly string[]): string[] | null {
  const codes = names.map(name => name.slice(0, 2).toUpperCase())
  return codes.length > 0 && codes.every(code => WEEKDAYS.has(code)) ? codes : null
}

/** Exchange takes the last day of a month that is shorter (AbsoluteMonthlyRecurrence of Exchange Web Services). */
function monthDay({ dayOfMonth }: Pattern): string[] | null {
  if (typeof dayOfMonth !== 'number' || dayOfMonth < 1 || dayOfMonth > MONTH_DAYS_MAX) return null
  if (dayOfMonth <= SURE_DAY) return [`BYMONTHDAY=${dayOfMonth}`]
  const days = Array.from({ length: dayOfMonth - SURE_DAY + 1 }, (_, index) => SURE_DAY + index)
  return [`BYMONTHDAY=${days.join(',')}`, 'BYSETPOS=-1']
}

function weekdays({ daysOfWeek, index }: Pattern): string[] | null {
  const days = daysOf(daysOfWeek ?? [])
  const position = POSITIONS.get(index ?? 'first')
  return days && position !== undefined ? [`BYDAY=${days.join(',')}`, `BYSETPOS=${position}`] : null
}

const LAST_TIME = 'T235959'

/** The last day of a range belongs to it, in the zone of the series. */
function endOf(
  { type, endDate, numberOfOccurrences }: GraphRecurrence['range'],
  start: EventTime,
): string[] | null {
  if (type === 'noend') return []
  if (type === 'numbered') return numberOfOccurrences ? [`COUNT=${numberOfOccurrences}`] : null
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(endDate ?? '') ?? []
  if (day === undefined) return null
  const date = `${year}${month}${day}`
  if (readWall(date) === null) return null
  if (isDay(start.wall) || start.zone === null) return [`UNTIL=${date}`]
  const last = `${date}${LAST_TIME}`
  return [`UNTIL=${printWall(Math.min(toInstant(last, start.zone), WALL_TIME_END - 1_000))}Z`]
}
