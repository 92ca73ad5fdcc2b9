import { DAY_MS, wallTimeOf } from '../wall-clock.ts'
import {
  addDaysOfMonth,
  completeDays,
  dayOf,
  describeDay,
  type TakesDay,
  testOfDays,
  weekOf,
} from './days.ts'
import type { Frequency, Rule } from './rule.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/**
 * The members of a rule in one period: each time on each day, both ascending. They are not spelled out, since a rule can
 * name each second of a year.
 */
export interface PeriodMembers {
  /** Wall times of midnights. */
  days: readonly number[]
  /** Milliseconds from midnight to `times`. */
  base: number
  times: readonly number[]
}

/** The periods of a rule, as numbers: years, months, weeks, days, hours, minutes or seconds since a fixed one. */
export interface Periods {
  /** The number of the period that holds a wall time. */
  numberOf(wallTime: number): number
  /** The wall time at which a period begins. */
  beginOf(period: number): number
  /**
   * The members in a period. If it has none, `nextFrom` may say at which wall time the next members can lie: a rule of
   * seconds then skips whole days.
   */
  membersOf(period: number): PeriodMembers & { nextFrom?: number }
}

/** The periods of a rule that starts at a wall time. */
export function periodsOf(given: Rule, start: number): Periods {
  const rule = completeDays(given, describeDay(dayOf(start)))
  const takes = testOfDays(rule)
  const { frequency } = rule
  if (frequency === 'HOURLY' || frequency === 'MINUTELY' || frequency === 'SECONDLY')
    return periodsWithinDays(rule, frequency, start, takes)
  const times = timesOf(rule, start)
  const { daysOf, ...numbers } = PERIODS_OF_DAYS[frequency](rule, takes)
  return {
    ...numbers,
    membersOf: period => ({ days: daysOf(period).map(day => day * DAY_MS), base: 0, times }),
  }
}

interface PeriodsOfDays extends Pick<Periods, 'numberOf' | 'beginOf'> {
  daysOf(period: number): number[]
}

const yearOf = (wallTime: number): number => new Date(wallTime).getUTCFullYear()
/** The calendar repeats after these years, weekdays included. */
const CYCLE_YEARS = 400
const ALL_MONTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]

const PERIODS_OF_DAYS: Record<
  Exclude<Frequency, 'HOURLY' | 'MINUTELY' | 'SECONDLY'>,
  (rule: Rule, takes: TakesDay) => PeriodsOfDays
> = {
  YEARLY: ({ months }, takes) => {
    const cycle = new Map<number, number[]>()
    return {
      numberOf: yearOf,
      beginOf: year => wallTimeOf(year, 1, 1),
      daysOf(year) {
        const first = wallTimeOf(year, 1, 1) / DAY_MS
        const known = cycle.get(year % CYCLE_YEARS)
        if (known) return known.map(day => first + day)
        const days: number[] = []
        for (const month of months ?? ALL_MONTHS) addDaysOfMonth(days, year, month, takes)
        cycle.set(
          year % CYCLE_YEARS,
          days.map(day => day - first),
        )
        return days
      },
    }
  },
  MONTHLY: ({ months }, takes) => ({
    numberOf: wallTime => yearOf(wallTime) * 12 + new Date(wallTime).getUTCMonth(),
    beginOf: number => wallTimeOf(Math.floor(number / 12), (number % 12) + 1, 1),
    daysOf(number) {
      const days: number[] = []
      const month = (number % 12) + 1
      if (!months || months.includes(month)) addDaysOfMonth(days, Math.floor(number / 12), month, takes)
      return days
    },
  }),
  WEEKLY: ({ weekStart }, takes) => ({
    // The week that begins at or before 1 January 1970 has the number 0.
    numberOf: wallTime => (weekOf(dayOf(wallTime), weekStart) - weekOf(0, weekStart)) / 7,
    beginOf: week => (week * 7 + weekOf(0, weekStart)) * DAY_MS,
    daysOf: week => daysFrom(week * 7 + weekOf(0, weekStart), 7, takes),
  }),
  DAILY: (_, takes) => ({
    numberOf: dayOf,
    beginOf: day => day * DAY_MS,
    daysOf: day => daysFrom(day, 1, takes),
  }),
}

function daysFrom(first: number, count: number, takes: TakesDay): number[] {
  const days: number[] = []
  for (let day = first; day < first + count; day++) if (takes(describeDay(day))) days.push(day)
  return days
}

/** The times of each day. Hours, minutes and seconds without a part are those of the start. */
function timesOf({ hours, minutes, seconds }: Rule, start: number): number[] {
  const time = new Date(start)
  return combine(
    (hours ?? [time.getUTCHours()]).map(hour => hour * HOUR_MS),
    combine(
      (minutes ?? [time.getUTCMinutes()]).map(minute => minute * MINUTE_MS),
      (seconds ?? [time.getUTCSeconds()]).map(second => second * SECOND_MS),
    ),
  )
}

const combine = (larger: readonly number[], smaller: readonly number[]): number[] =>
  larger.flatMap(first => smaller.map(second => first + second))

const LENGTHS = { HOURLY: HOUR_MS, MINUTELY: MINUTE_MS, SECONDLY: SECOND_MS }

/** Periods of hours, minutes or seconds, which parts for larger units limit, and parts for smaller ones expand. */
function periodsWithinDays(
  rule: Rule,
  frequency: keyof typeof LENGTHS,
  start: number,
  takes: TakesDay,
): Periods {
  const length = LENGTHS[frequency]
  const hours = rule.hours && new Set(rule.hours)
  const minutes = frequency === 'HOURLY' || !rule.minutes ? null : new Set(rule.minutes)
  const isSecondly = frequency === 'SECONDLY'
  const seconds = isSecondly && rule.seconds ? new Set(rule.seconds) : null
  const offsets = isSecondly
    ? [0]
    : timesOf(frequency === 'HOURLY' ? { ...rule, hours: [0] } : { ...rule, hours: [0], minutes: [0] }, start)
  let tested = { day: Number.NaN, isTaken: false }
  const NONE = { days: [], base: 0, times: [] }
  return {
    numberOf: wallTime => Math.floor(wallTime / length),
    beginOf: period => period * length,
    membersOf(period) {
      const begin = period * length
      const day = dayOf(begin)
      if (tested.day !== day) tested = { day, isTaken: takes(describeDay(day)) }
      if (!tested.isTaken) return { ...NONE, nextFrom: (day + 1) * DAY_MS }
      const time = begin - day * DAY_MS
      const hour = Math.floor(time / HOUR_MS)
      if (hours && !hours.has(hour)) return { ...NONE, nextFrom: day * DAY_MS + (hour + 1) * HOUR_MS }
      const minute = Math.floor(time / MINUTE_MS) % 60
      if (minutes && !minutes.has(minute))
        return { ...NONE, nextFrom: begin - (begin % MINUTE_MS) + MINUTE_MS }
      if (seconds && !seconds.has((time / SECOND_MS) % 60)) return NONE
      return { days: [day * DAY_MS], base: time, times: offsets }
    },
  }
}
