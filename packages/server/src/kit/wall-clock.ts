/**
 * Wall clocks: `YYYYMMDDTHHMMSS`, or `YYYYMMDD` for a day (RFC 5545 sections 3.3.4 and 3.3.5, without `Z`). Calculations
 * use their *wall time*: the milliseconds since 1970 that a clock of UTC with the same digits has.
 */

export const DAY_MS = 86_400_000

/** Wall times of years with four digits lie from the first up to, but not including, the second. */
export const WALL_TIME_MIN = wallTimeOf(0, 1, 1)
export const WALL_TIME_END = wallTimeOf(10_000, 1, 1)

const WALL = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d))?$/

/** Whether a wall clock is a day. */
export const isDay = (wall: string): boolean => !wall.includes('T')

/** The wall time of a wall clock, of a day its midnight. Null if it is not one, or names a day that does not exist. */
export function readWall(wall: string): number | null {
  const match = WALL.exec(wall)
  if (!match) return null
  const [year, month, day, hour, minute, second] = match.slice(1).map(digits => Number(digits ?? 0))
  if (hour! > 23 || minute! > 59 || second! > 60) return null
  const midnight = wallTimeOf(year!, month!, day!)
  if (month! < 1 || day! < 1 || new Date(midnight).getUTCDate() !== day || month! > 12) return null
  // Without leap seconds, second 60 is second 59 (RFC 5545 section 3.3.5).
  return midnight + ((hour! * 60 + minute!) * 60 + Math.min(second!, 59)) * 1000
}

/** @throws RangeError if it is no wall clock */
export function requireWall(wall: string): number {
  const time = readWall(wall)
  if (time === null) throw new RangeError(`${wall.slice(0, 40)} is no wall clock`)
  return time
}

/** The wall clock of a wall time, without its milliseconds. @throws RangeError if the year does not have four digits */
export function printWall(time: number): string {
  if (time < WALL_TIME_MIN || time >= WALL_TIME_END) throw new RangeError(`${time} has no wall clock`)
  const midnight = Math.floor(time / DAY_MS)
  const { year, month, monthDay } = dateOf(midnight)
  const second = Math.floor((time - midnight * DAY_MS) / 1000)
  const minute = Math.floor(second / 60)
  const clock = `${TWO[Math.floor(minute / 60)]}${TWO[minute % 60]}${TWO[second % 60]}`
  return `${TWO[Math.floor(year / 100)]}${TWO[year % 100]}${TWO[month]}${TWO[monthDay]}T${clock}`
}

/** The numbers from 0 to 99 with two digits. */
const TWO: readonly string[] = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

/** The day of a wall time. @throws RangeError if the year does not have four digits */
export const printDay = (time: number): string => printWall(time).slice(0, 8)

/** A date of the proleptic Gregorian calendar. Months and days count from 1. */
export interface CalendarDate {
  year: number
  month: number
  monthDay: number
}

const [CYCLE, CENTURY, FOUR_YEARS, YEAR] = [146_097, 36_524, 1_461, 365]
/** From 1 March of the year 0, so that a leap day ends a year, to 1 January 1970. */
const DAYS_TO_1970 = 719_468

/** The date of a day, which counts from 1 January 1970. Without `Date`, which takes several times as long. */
export function dateOf(day: number): CalendarDate {
  const since = day + DAYS_TO_1970
  const cycle = Math.floor(since / CYCLE)
  const inCycle = since - cycle * CYCLE
  const century = Math.min(Math.floor(inCycle / CENTURY), 3)
  const inCentury = inCycle - century * CENTURY
  const four = Math.floor(inCentury / FOUR_YEARS)
  const inFour = inCentury - four * FOUR_YEARS
  const single = Math.min(Math.floor(inFour / YEAR), 3)
  const inYear = inFour - single * YEAR
  // Five months from March and from August on have 153 days.
  const month = Math.floor((5 * inYear + 2) / 153)
  const monthDay = inYear - Math.floor((153 * month + 2) / 5) + 1
  const year = 400 * cycle + 100 * century + 4 * four + single
  return month < 10 ? { year, month: month + 3, monthDay } : { year: year + 1, month: month - 9, monthDay }
}

/** The wall time of the midnight that begins a day. Months and days count from 1, and may lie outside of their range. */
export function wallTimeOf(year: number, month: number, day: number): number {
  // `Date.UTC` takes the years 0 to 99 for others. The calendar repeats after 400 years, which have 146,097 days.
  return Date.UTC(year + 400, month - 1, day) - 146_097 * DAY_MS
}
