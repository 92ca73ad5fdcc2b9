import { DAY_MS, type Moment, wallOf } from '../../../calendaring/moments.ts'
import {
  dateOf,
  dayOf,
  occurrenceDays,
  type Pattern,
  PATTERNS,
  type Range,
  type Recurrence,
  WEEK_INDEXES,
  WEEKDAYS,
} from '../../mailbox/recurrence.ts'
import { badRequest } from '../errors.ts'
import { objectIn, text, word, wrongValue } from '../message-input.ts'
import { requireZone } from './event-times.ts'

const RANGES = ['endDate', 'noEnd', 'numbered'] as const
const INTERVAL_MAX = 999
const OCCURRENCES_MAX = 999

/** Days after the start in which a series has to have its first occurrence. */
const SEARCHED_DAYS = 366 * 100

/** Reads a `patternedRecurrence`. Times of the event are in `zone` if the range names no other. */
export function readRecurrence(value: unknown, zone: string): Recurrence | null {
  if (value === null) return null
  const given = objectIn(value, 'recurrence')
  const recurrence = {
    pattern: readPattern(objectIn(given['pattern'], 'pattern')),
    range: readRange(objectIn(given['range'], 'range'), zone),
  }
  const last = dayOf(recurrence.range.startDate) + SEARCHED_DAYS
  if (occurrenceDays(recurrence, last).length === 0)
    throw badRequest('The recurrence has no occurrence.', 'ErrorRecurrenceHasNoOccurrence')
  return recurrence
}

/** The day of the first occurrence, to which the start of the series moves. */
export const firstDayOf = (recurrence: Recurrence): number =>
  occurrenceDays(recurrence, dayOf(recurrence.range.startDate) + SEARCHED_DAYS)[0] ??
  dayOf(recurrence.range.startDate)

function readPattern(given: Record<string, unknown>): Pattern {
  const type = word(given['type'], 'type', PATTERNS)
  const needsDays = type === 'weekly' || type.startsWith('relative')
  const days = (Array.isArray(given['daysOfWeek']) ? given['daysOfWeek'] : []).map((day: unknown) =>
    word(day, 'daysOfWeek', WEEKDAYS),
  )
  if (needsDays && days.length === 0) throw invalidPattern()
  return {
    type,
    interval: numberIn(given['interval'], { from: 1, to: INTERVAL_MAX }),
    month: type.endsWith('Yearly') ? numberIn(given['month'], { from: 1, to: 12 }) : 0,
    dayOfMonth: type.startsWith('absolute') ? numberIn(given['dayOfMonth'], { from: 1, to: 31 }) : 0,
    daysOfWeek: needsDays ? WEEKDAYS.filter(day => days.includes(day)) : [],
    firstDayOfWeek: word(given['firstDayOfWeek'] ?? 'sunday', 'firstDayOfWeek', WEEKDAYS),
    index: word(given['index'] ?? 'first', 'index', WEEK_INDEXES),
  }
}

const invalidPattern = () =>
  badRequest('The recurrence pattern is not valid.', 'ErrorPropertyValidationFailure')

function numberIn(value: unknown, { from, to }: { from: number; to: number }): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < from || value > to)
    throw invalidPattern()
  return value
}

function readRange(given: Record<string, unknown>, zone: string): Range {
  const type = word(given['type'], 'type', RANGES)
  const startDate = dateIn(given['startDate'])
  const endDate = type === 'endDate' ? dateIn(given['endDate']) : null
  if (endDate !== null && endDate < startDate)
    throw badRequest('The end of the recurrence is before its start.', 'ErrorRecurrenceEndDateTooEarly')
  const named = text(given['recurrenceTimeZone'], 'recurrenceTimeZone') || zone
  return {
    type,
    startDate,
    endDate,
    numberOfOccurrences:
      type === 'numbered' ? numberIn(given['numberOfOccurrences'], { from: 1, to: OCCURRENCES_MAX }) : 0,
    recurrenceTimeZone: requireZone(named).name,
  }
}

/** Occurrences are named by the days since 1970. */
function dateIn(value: unknown): string {
  const date = text(value, 'startDate')
  if (!/^\d{4}-\d\d-\d\d$/.test(date) || Number.isNaN(dayOf(date)) || dayOf(date) < 0)
    throw wrongValue('startDate')
  return date
}

/** The start and end of a series, moved to the day of its first occurrence, in milliseconds of a wall clock. */
export function movedToFirst(
  recurrence: Recurrence,
  { start, end }: { start: Moment; end: Moment },
): { start: number; end: number; recurrence: Recurrence } {
  const first = firstDayOf(recurrence)
  const [from, to] = [wallOf(start), wallOf(end)]
  const shift = first * DAY_MS - (from - (from % DAY_MS))
  return {
    start: from + shift,
    end: to + shift,
    recurrence: { ...recurrence, range: { ...recurrence.range, startDate: dateOf(first) } },
  }
}
