import { WEEKDAYS, type WorkingHours } from '@waxwing/contract/calendars/working-hours.ts'
import { DAY_MS, printDay, printWall, requireWall } from '../../../kit/wall-clock.ts'
import { toInstant, toWall } from '../../../kit/zones/zones.ts'
import { mergeRanges, type TimeRange } from './busy-times.ts'

const MINUTE_MS = 60_000
const DAY_MINUTES = 1_440
/** Days from 1 January 1970 to the first Monday. */
const FIRST_MONDAY = 4
/**
 * A range that goes on over midnights began within a week, or within two if the only closed time of a week falls into a
 * gap of the zone.
 */
const RANGE_DAYS_MAX = 15

/** Minutes of a day. */
interface DayRange {
  from: number
  to: number
}

/** The ranges of each weekday, ascending, Monday first. */
export type OpenWeek = readonly DayRange[][]

/** Reads working hours. Null if a range ends before it starts, or ranges of a day overlap. */
export function readWorkingHours(hours: WorkingHours): OpenWeek | null {
  const week = WEEKDAYS.map(day =>
    (hours[day] ?? [])
      .map(({ start, end }) => ({ from: minutesOf(start), to: minutesOf(end) }))
      .toSorted((one, other) => one.from - other.from),
  )
  const isInvalid = (ranges: DayRange[]) =>
    ranges.some(({ from, to }, index) => to <= from || from < (ranges[index - 1]?.to ?? 0))
  return week.some(isInvalid) ? null : week
}

function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':')
  return Number(hours) * 60 + Number(minutes)
}

/** Whether no minute of the week is closed. Such hours have no beginning. */
export function isAlwaysOpen(week: OpenWeek): boolean {
  return week.every(ranges => {
    let upTo = 0
    for (const { from, to } of ranges) if (from === upTo) upTo = to
    return upTo === DAY_MINUTES
  })
}

/**
 * The ranges of open hours that reach into a range of time, each from its beginning, those that touch as one. A local
 * time that does not exist moves forward by the gap; of one that occurs twice, the first counts.
 */
export function openRanges(week: OpenWeek, zone: string, { start, end }: TimeRange): TimeRange[] {
  const ranges: TimeRange[] = []
  for (const midnight of daysAround(zone, { start: start - RANGE_DAYS_MAX * DAY_MS, end })) {
    const weekday = (Math.floor(midnight / DAY_MS) - FIRST_MONDAY) % 7
    for (const { from, to } of week[(weekday + 7) % 7]!)
      ranges.push({ start: instantAt(midnight, from, zone), end: instantAt(midnight, to, zone) })
  }
  const ascending = ranges.toSorted((one, other) => one.start - other.start)
  return mergeRanges(ascending).filter(range => range.start < end && range.end > start)
}

/** The local midnights that begin the days of a range, ascending. A day that a zone skipped is left out. */
export function localMidnights(zone: string, range: TimeRange): number[] {
  const instants = daysAround(zone, range).map(midnight => instantAt(midnight, 0, zone))
  return instants.filter((instant, index) => instant !== instants[index - 1])
}

/** The wall times of the midnights of all days that a range may touch. */
function daysAround(zone: string, { start, end }: TimeRange): number[] {
  const first = requireWall(printDay(requireWall(toWall(start, zone)))) - DAY_MS
  const last = requireWall(toWall(end, zone)) + DAY_MS
  const days: number[] = []
  for (let midnight = first; midnight <= last; midnight += DAY_MS) days.push(midnight)
  return days
}

const instantAt = (midnight: number, minutes: number, zone: string): number =>
  toInstant(printWall(midnight + minutes * MINUTE_MS), zone)
