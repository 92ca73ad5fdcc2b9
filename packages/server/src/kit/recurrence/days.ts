import { DAY_MS, dateOf, wallTimeOf } from '../wall-clock.ts'
import type { Rule } from './rule.ts'

/* Days of the periods of a rule, by the table of RFC 5545 section 3.3.10. Days are counted from 1 January 1970. */

export interface CalendarDay {
  day: number
  year: number
  /** From 1. */
  month: number
  /** From 1. */
  monthDay: number
  monthLength: number
  /** From 1. */
  yearDay: number
  /** 0 is Sunday. */
  weekday: number
}

export const dayOf = (wallTime: number): number => Math.floor(wallTime / DAY_MS)

const firstDayOf = (year: number, month = 1): number => wallTimeOf(year, month, 1) / DAY_MS
/** 1 January 1970 was a Thursday. */
const weekdayOf = (day: number): number => modulo(day + 4, 7)
const modulo = (number: number, by: number): number => ((number % by) + by) % by

const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const DAYS_BEFORE = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]

export function describeDay(day: number): CalendarDay {
  const { year, month, monthDay } = dateOf(day)
  const leapDay = isLeap(year) ? 1 : 0
  return {
    day,
    year,
    month,
    monthDay,
    monthLength: MONTH_LENGTHS[month - 1]! + (month === 2 ? leapDay : 0),
    yearDay: DAYS_BEFORE[month - 1]! + (month > 2 ? leapDay : 0) + monthDay,
    weekday: weekdayOf(day),
  }
}

/** The first day of the week that holds a day. */
export const weekOf = (day: number, weekStart: number): number => day - modulo(weekdayOf(day) - weekStart, 7)

/** The rule with the parts for days that it takes from its start. */
export function completeDays(rule: Rule, start: CalendarDay): Rule {
  const { frequency, weekNumbers, yearDays, monthDays, weekdays } = rule
  const ofStart = [{ weekday: start.weekday, nth: 0 }]
  const hasDays = yearDays ?? monthDays ?? weekdays
  if (hasDays) return rule
  if (weekNumbers) return frequency === 'YEARLY' ? { ...rule, weekdays: ofStart } : rule
  if (frequency === 'WEEKLY') return { ...rule, weekdays: ofStart }
  if (frequency === 'MONTHLY') return { ...rule, monthDays: [start.monthDay] }
  if (frequency !== 'YEARLY') return rule
  return { ...rule, months: rule.months ?? [start.month], monthDays: [start.monthDay] }
}

export type TakesDay = (day: Readonly<CalendarDay>) => boolean

/**
 * A test whether a completed rule takes a day. Parts that expand and parts that limit are the same test here, since all days
 * of a period are tested.
 */
export function testOfDays(rule: Rule): TakesDay {
  const months = setOf(rule.months)
  const monthDays = setOf(rule.monthDays)
  const yearDays = setOf(rule.yearDays)
  const weekNumbers = setOf(rule.weekNumbers)
  const isOnWeekday = testOfWeekdays(rule)
  return day => {
    if (months && !months.has(day.month)) return false
    if (monthDays && !monthDays.has(day.monthDay) && !monthDays.has(day.monthDay - day.monthLength - 1))
      return false
    if (isOnWeekday && !isOnWeekday(day)) return false
    if (yearDays && !yearDays.has(day.yearDay) && !yearDays.has(day.yearDay - lengthOf(day.year) - 1))
      return false
    if (!weekNumbers) return true
    const { number, fromEnd } = weekNumberOf(day, rule.weekStart)
    return weekNumbers.has(number) || weekNumbers.has(fromEnd)
  }
}

const setOf = (numbers: readonly number[] | null) => numbers && new Set(numbers)

/** Weekdays count in the month if the period is one or the rule names months, else in the year. */
function testOfWeekdays({ frequency, weekdays, months, weekNumbers }: Rule): TakesDay | null {
  if (!weekdays) return null
  const counts = frequency === 'MONTHLY' || (frequency === 'YEARLY' && !weekNumbers)
  const isOfMonth = frequency === 'MONTHLY' || months !== null
  const each = new Set<number>()
  const nths = new Set<number>()
  for (const { weekday, nth } of weekdays) {
    if (nth === 0 || !counts) each.add(weekday)
    else nths.add(nth * 7 + weekday)
  }
  return day => {
    if (each.has(day.weekday)) return true
    if (nths.size === 0) return false
    const at = isOfMonth ? day.monthDay : day.yearDay
    const length = isOfMonth ? day.monthLength : lengthOf(day.year)
    const nth = Math.floor((at - 1) / 7) + 1
    const nthFromEnd = -Math.floor((length - at) / 7) - 1
    return nths.has(nth * 7 + day.weekday) || nths.has(nthFromEnd * 7 + day.weekday)
  }
}

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
const lengthOf = (year: number): number => (isLeap(year) ? 366 : 365)

/** The number of a day's week from both ends of the year to which the week belongs, the one with four of its days. */
function weekNumberOf({ day, year }: Readonly<CalendarDay>, weekStart: number) {
  const first = firstWeekOf(year, weekStart)
  const next = firstWeekOf(year + 1, weekStart)
  let begin = first
  let end = next
  if (day < first) [begin, end] = [firstWeekOf(year - 1, weekStart), first]
  else if (day >= next) [begin, end] = [next, firstWeekOf(year + 2, weekStart)]
  const number = Math.floor((day - begin) / 7) + 1
  return { number, fromEnd: number - (end - begin) / 7 - 1 }
}

/** The first day of the first week of a year, which is the week of 4 January (RFC 5545 section 3.3.10, BYWEEKNO). */
const firstWeekOf = (year: number, weekStart: number): number => weekOf(firstDayOf(year) + 3, weekStart)

/** Adds those days of a month that the test takes. */
export function addDaysOfMonth(days: number[], year: number, month: number, takes: TakesDay): void {
  const first = firstDayOf(year, month)
  const monthLength = firstDayOf(year, month + 1) - first
  const daysBefore = first - firstDayOf(year)
  const weekdayBefore = weekdayOf(first - 1)
  const each: CalendarDay = { day: 0, year, month, monthDay: 0, monthLength, yearDay: 0, weekday: 0 }
  for (let monthDay = 1; monthDay <= monthLength; monthDay++) {
    each.day = first + monthDay - 1
    each.monthDay = monthDay
    each.yearDay = daysBefore + monthDay
    each.weekday = (weekdayBefore + monthDay) % 7
    if (takes(each)) days.push(each.day)
  }
}
