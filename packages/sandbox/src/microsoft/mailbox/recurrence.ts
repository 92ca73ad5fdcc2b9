import { DAY_MS } from '../../calendaring/moments.ts'

export const WEEKDAYS = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const
export type Weekday = (typeof WEEKDAYS)[number]

export const PATTERNS = [
  'daily',
  'weekly',
  'absoluteMonthly',
  'relativeMonthly',
  'absoluteYearly',
  'relativeYearly',
] as const

export const WEEK_INDEXES = ['first', 'second', 'third', 'fourth', 'last'] as const

export interface Pattern {
  readonly type: (typeof PATTERNS)[number]
  readonly interval: number
  /** From 1; 0 in patterns of other types. */
  readonly month: number
  readonly dayOfMonth: number
  readonly daysOfWeek: readonly Weekday[]
  readonly firstDayOfWeek: Weekday
  readonly index: (typeof WEEK_INDEXES)[number]
}

export interface Range {
  readonly type: 'endDate' | 'noEnd' | 'numbered'
  /** `YYYY-MM-DD`. */
  readonly startDate: string
  readonly endDate: string | null
  /** 0 in ranges of other types. */
  readonly numberOfOccurrences: number
  /** As the client wrote it. */
  readonly recurrenceTimeZone: string
}

/** A recurrence of Exchange. It gives at most one occurrence a day. */
export interface Recurrence {
  readonly pattern: Pattern
  readonly range: Range
}

/** Occurrences and periods of a series at most. */
const OCCURRENCES_MAX = 20_000
const PERIODS_MAX = 50_000

/** The number of a day since 1970. */
export const dayOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) / DAY_MS

export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** The days of the occurrences of a series up to a day, in order. */
export function occurrenceDays({ pattern, range }: Recurrence, last: number): number[] {
  const first = dayOf(range.startDate)
  const end = Math.min(last, range.endDate === null ? last : dayOf(range.endDate))
  const most = range.type === 'numbered' ? range.numberOfOccurrences : OCCURRENCES_MAX
  const days: number[] = []
  for (let period = 0; period < PERIODS_MAX; period += 1) {
    const given = daysOfPeriod(pattern, first, period)
    // The days of a period are in order, and those of a later period come after them.
    if ((given.first ?? 0) > end) break
    for (const day of given.days) {
      if (day < first) continue
      if (day > end || days.length >= most) return days
      days.push(day)
    }
  }
  return days
}

interface Period {
  /** The first day of the period. */
  readonly first: number
  readonly days: readonly number[]
}

function daysOfPeriod(pattern: Pattern, start: number, period: number): Period {
  const steps = period * pattern.interval
  switch (pattern.type) {
    case 'daily':
      return { first: start + steps, days: [start + steps] }
    case 'weekly': {
      const first = weekOf(start, pattern.firstDayOfWeek) + 7 * steps
      const week = Array.from({ length: 7 }, (_, at) => first + at)
      return { first, days: week.filter(day => pattern.daysOfWeek.includes(weekdayOf(day))) }
    }
    case 'absoluteMonthly':
    case 'relativeMonthly':
      return daysOfMonth(pattern, monthAfter(start, steps))
    case 'absoluteYearly':
    case 'relativeYearly': {
      const year = new Date(start * DAY_MS).getUTCFullYear() + steps
      return daysOfMonth(pattern, Date.UTC(year, pattern.month - 1, 1) / DAY_MS)
    }
  }
}

/** The day on which the month begins that lies so many months after the one of a day. */
function monthAfter(day: number, months: number): number {
  const date = new Date(day * DAY_MS)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / DAY_MS
}

/**
 * The day of a month. Exchange takes the last day of a month that is shorter than the pattern says
 * (AbsoluteMonthlyRecurrence of Exchange Web Services).
 */
function daysOfMonth({ type, dayOfMonth, daysOfWeek, index }: Pattern, first: number): Period {
  const length = monthAfter(first, 1) - first
  if (type === 'absoluteMonthly' || type === 'absoluteYearly')
    return { first, days: [first + Math.min(dayOfMonth, length) - 1] }
  const fitting = Array.from({ length }, (_, at) => first + at).filter(day =>
    daysOfWeek.includes(weekdayOf(day)),
  )
  const day = index === 'last' ? fitting.at(-1) : fitting[WEEK_INDEXES.indexOf(index)]
  return { first, days: day === undefined ? [] : [day] }
}

export const weekdayOf = (day: number): Weekday => WEEKDAYS[new Date(day * DAY_MS).getUTCDay()] ?? WEEKDAYS[0]

function weekOf(day: number, firstDay: Weekday): number {
  const offset = WEEKDAYS.indexOf(weekdayOf(day)) - WEEKDAYS.indexOf(firstDay)
  return day - ((offset + 7) % 7)
}
