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
import type { SeriesStart } from './member.ts'
import { printUntil, withParts } from './recurrence-lines.ts'
import { readParts, readRule, WEEKDAYS } from './rule.ts'
import { isWithin, readUntil } from './until.ts'
import { PERIODS_MAX, walkRule } from './walk-rule.ts'

/** A start that another one takes the place of. */
export interface Shift {
  from: SeriesStart
  to: SeriesStart
}

/** The day of a wall clock, counted from 1970. */
const dayOf = (wall: string): number => Math.floor(requireWall(wall) / DAY_MS)

/** The days between two starts, and the time of day between them in milliseconds. */
function differenceOf({ from, to }: Shift): { days: number; time: number } {
  const days = dayOf(to.wall) - dayOf(from.wall)
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
 * UNTIL.
 * @returns null if the rule would not give the new start, though it gives the old one
 */
export function shiftRule(value: string, shift: Shift): string | null {
  const parts = readParts(value)
  const rule = readRule(value)
  if (!parts || !rule) return value
  const changes: Record<string, string | null> = {}
  if (!moveTimes(parts, shift, changes)) return null
  moveDays(parts, shift, changes)
  const until = parts.get('UNTIL')
  if (until !== undefined) changes.UNTIL = shiftUntil(until, shift)
  const isSame = Object.entries(changes).every(([name, text]) => (parts.get(name) ?? null) === text)
  const shifted = isSame ? value : withParts(value, changes)
  return gives(shifted, shift.to) || !gives(value, shift.from) ? shifted : null
}

function gives(value: string, start: SeriesStart): boolean {
  const rule = readRule(value)
  if (!rule) return false
  const time = requireWall(start.wall)
  const fitting = isDay(start.wall) ? { ...rule, hours: null, minutes: null, seconds: null } : rule
  const walk = { start: time, from: time, to: time + 1, isStartCounted: true }
  const until = rule.until === null ? null : readUntil(rule.until, start)
  const isOver = until !== null && (time >= until.end || !isWithin(until, start.wall, start))
  return !isOver && walkRule(fitting, walk, { periods: PERIODS_MAX, members: 1 }).members.length > 0
}

/** @returns whether the parts for times can move along */
function moveTimes(
  parts: ReadonlyMap<string, string>,
  { from, to }: Shift,
  changes: Record<string, string | null>,
): boolean {
  const names = ['BYHOUR', 'BYMINUTE', 'BYSECOND']
  if (isDay(to.wall)) {
    for (const name of names) if (parts.has(name)) changes[name] = null
    return parts.get('FREQ') !== 'HOURLY'
  }
  const units = (wall: string) =>
    isDay(wall) ? [0, 0, 0] : [9, 11, 13].map(at => Number(wall.slice(at, at + 2)))
  const [before, after] = [units(from.wall), units(to.wall)]
  return names.every((name, unit) => {
    const list = parts.get(name)?.split(',').map(Number)
    const difference = after[unit]! - before[unit]!
    if (!list || difference === 0) return true
    const moved = list.map(number => number + difference)
    if (moved.some(number => number < 0 || number > (unit === 0 ? 23 : 59))) return false
    changes[name] = moved.join(',')
    return true
  })
}

function moveDays(
  parts: ReadonlyMap<string, string>,
  shift: Shift,
  changes: Record<string, string | null>,
): void {
  const { days } = differenceOf(shift)
  if (days === 0) return
  const frequency = parts.get('FREQ')
  const given = parts
    .get('BYDAY')
    ?.split(',')
    .map(day => day.trim())
  const date = new Date(requireWall(shift.to.wall))
  if (given) {
    const isCounted = given.some(day => /\d/.test(day))
    const moved = given.map(day => day.slice(0, -2) + moveWeekday(day.slice(-2), days))
    changes.BYDAY =
      isCounted && given.length === 1 && frequency === 'MONTHLY' ? nthOf(given[0]!, date) : moved.join(',')
    // The days of a week stay in one week.
    const isLong = frequency === 'WEEKLY' && Number(parts.get('INTERVAL') ?? 1) > 1 && given.length > 1
    if (isLong) changes.WKST = moveWeekday(parts.get('WKST') ?? 'MO', days)
  }
  const months = parts.get('BYMONTH')
  if (months !== undefined && !months.includes(',') && frequency === 'YEARLY') {
    changes.BYMONTH = String(date.getUTCMonth() + 1)
    if (given?.length === 1 && /\d/.test(given[0]!)) changes.BYDAY = nthOf(given[0]!, date)
  }
  const monthDays = parts.get('BYMONTHDAY')?.split(',').map(Number)
  if (monthDays?.length === 1) changes.BYMONTHDAY = String(monthDayOf(date, monthDays[0]! < 0))
  else if (monthDays) changes.BYMONTHDAY = moveMonthDays(monthDays, days) ?? monthDays.join(',')
}

/** Days of the month that are later by some days; null if they do not stay in their month. */
function moveMonthDays(given: readonly number[], days: number): string | null {
  const moved = given.map(day => day + days)
  const isKept = moved.every(
    (day, index) => Math.sign(day) === Math.sign(given[index]!) && Math.abs(day) <= 31,
  )
  return isKept ? moved.join(',') : null
}

function moveWeekday(day: string, days: number): string {
  const at = WEEKDAYS.indexOf(day)
  return at === -1 ? day : WEEKDAYS[(((at + days) % 7) + 7) % 7]!
}

/** The place of a date in its month, counted as another one is: from the first day or from the last. */
function nthOf(like: string, date: Date): string {
  const isFromEnd = like.startsWith('-')
  const nth = Math.ceil(Math.abs(monthDayOf(date, isFromEnd)) / 7)
  return `${isFromEnd ? '-' : ''}${nth}${WEEKDAYS[date.getUTCDay()]}`
}

/** The day of the month; from its end if negative. */
function monthDayOf(date: Date, isFromEnd: boolean): number {
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  return isFromEnd ? date.getUTCDate() - last - 1 : date.getUTCDate()
}

function shiftUntil(text: string, shift: Shift): string {
  const { from, to } = shift
  const isUtc = text.endsWith('Z')
  const written = isUtc ? text.slice(0, -1) : text
  const last = isDay(from.wall) ? written.slice(0, 8) : isDay(written) ? `${written}T235959` : written
  // An UNTIL at the end of the calendar ends nothing.
  if (requireWall(last) >= WALL_TIME_END - 800 * DAY_MS) return isDay(to.wall) ? text.slice(0, 8) : text
  const wall = isUtc && !isDay(from.wall) && from.zone !== null ? toWall(requireWall(last), from.zone) : last
  return printUntil(shiftWall(wall, shift), to)
}
