import { type ContentLine, parameterOf } from '../../../kit/content-lines/content-line.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall } from '../../../kit/wall-clock.ts'
import { toInstant, toWall } from '../../../kit/zones/zones.ts'
import type { EventTime } from '../../calendars.ts'
import { type EventComponent, lineOf } from './event-file.ts'
import { readDuration, readTime, type WrittenDuration } from '../../../kit/written-time.ts'

/** Resolves the TZID of a line to a zone. Null: the time is floating. */
export type ZoneOf = (tzid: string) => string | null

const UTC = 'UTC'

/** The time of a line. Null if it is none. */
function readEventTime(line: ContentLine, zoneOf: ZoneOf): EventTime | null {
  const time = readTime(line.value)
  if (!time) return null
  if (isDay(time.wall)) return { wall: time.wall, zone: null }
  if (parameterOf(line, 'VALUE')?.toUpperCase() === 'DATE') return { wall: time.wall.slice(0, 8), zone: null }
  if (time.isUtc) return { wall: time.wall, zone: UTC }
  const tzid = parameterOf(line, 'TZID')
  return { wall: time.wall, zone: tzid ? zoneOf(tzid) : null }
}

/** Start and end of an event; null without a start that can be read. The end is not before the start. */
export function readTimes(
  event: EventComponent,
  zoneOf: ZoneOf,
): { start: EventTime; end: EventTime } | null {
  const first = lineOf(event, 'DTSTART')
  const start = first ? readEventTime(first, zoneOf) : null
  if (!start) return null
  const last = lineOf(event, 'DTEND')
  const given = last ? readEventTime(last, zoneOf) : null
  const end = given ? alike(given, start) : endAfter(event, start)
  if (isDay(start.wall))
    return { start, end: end.wall > start.wall ? end : (addDuration(start, ONE_DAY) ?? start) }
  return { start, end: instantIn(end) < instantIn(start) ? start : end }
}

const ONE_DAY = { days: 1, milliseconds: 0 }
const NOTHING = { days: 0, milliseconds: 0 }

/** RFC 5545 section 3.6.1: without an end, a day is one day, and a time has no length. */
function endAfter(event: EventComponent, start: EventTime): EventTime {
  const line = lineOf(event, 'DURATION')
  const duration = line ? readDuration(line.value) : null
  return addDuration(start, duration ?? (isDay(start.wall) ? ONE_DAY : NOTHING)) ?? start
}

/** An end of the other value type, brought to that of the start. */
function alike(end: EventTime, start: EventTime): EventTime {
  if (isDay(end.wall) === isDay(start.wall)) return end
  if (isDay(end.wall)) return { wall: `${end.wall}T000000`, zone: start.zone }
  const day = { wall: end.wall.slice(0, 8), zone: null }
  return end.wall.endsWith('T000000') ? day : (addDuration(day, ONE_DAY) ?? day)
}

/**
 * A time that is later by a duration; null outside of the years 0 to 9999. Days are counted on the wall clock, and the
 * time beside them exactly (RFC 5545 section 3.3.6).
 */
function addDuration({ wall, zone }: EventTime, { days, milliseconds }: WrittenDuration): EventTime | null {
  const time = requireWall(wall) + days * DAY_MS
  return inRange(() => {
    if (isDay(wall)) return { wall: printDay(time + Math.trunc(milliseconds / DAY_MS) * DAY_MS), zone }
    if (zone === null || milliseconds === 0) return { wall: printWall(time + milliseconds), zone }
    return { wall: toWall(toInstant(printWall(time), zone) + milliseconds, zone), zone }
  })
}

/** The result; null if a year does not have four digits. */
function inRange<T>(calculate: () => T): T | null {
  try {
    return calculate()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** The instant of a time in milliseconds. Days and floating times are taken in UTC, to be compared with their like. */
export function instantIn({ wall, zone }: EventTime): number {
  return zone === null ? requireWall(wall) : toInstant(wall, zone)
}
