import { type Parameter, parameterOf } from '../content-lines/content-line.ts'
import { DAY_MS, isDay, printWall, requireWall } from '../wall-clock.ts'
import { readTime } from '../written-time.ts'
import { findNamedZone } from '../zones/named-zone.ts'
import { toInstant, toWall } from '../zones/zones.ts'

/** The start of a series: a wall clock and its zone, which is null for a day or a floating time. */
export interface SeriesStart {
  wall: string
  zone: string | null
}

/**
 * The member that an EXDATE, RDATE or RECURRENCE-ID names, as a wall clock in the zone of the series. A day on a series with
 * times stays a day: it names every member of that day.
 * @param value one value, without commas
 * @param zoneOf resolves a TZID as that of DTSTART was resolved. By default it knows IANA and Windows names; any other
 * counts as the zone of the series, whose definition both have in common
 * @returns null if the value cannot be read
 */
export function toMember(
  value: string,
  parameters: readonly Parameter[],
  start: SeriesStart,
  zoneOf: (tzid: string) => string | null = findNamedZone,
): string | null {
  const time = readTime(value)
  if (!time) return null
  const day = time.wall.slice(0, 8)
  const isOfDay = isDay(time.wall) || parameterOf({ parameters }, 'VALUE')?.toUpperCase() === 'DATE'
  if (isDay(start.wall) || isOfDay) return day
  const tzid = parameterOf({ parameters }, 'TZID')
  const zone = time.isUtc ? 'UTC' : tzid ? (zoneOf(tzid) ?? start.zone) : start.zone
  // A floating series has no zone to convert to.
  if (zone === null || start.zone === null || zone === start.zone) return time.wall
  return inZoneOf(start, toInstant(time.wall, zone))
}

/** The wall clock of a member by its instant. Null if its year does not have four digits. */
function inZoneOf(start: SeriesStart, instant: number): string | null {
  const zone = start.zone!
  let wall
  try {
    wall = toWall(instant, zone)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
  // A member in a gap moves forward, but keeps the wall clock that the rule gives it.
  const timeOfDay = requireWall(start.wall) % DAY_MS
  const midnight = Math.floor(requireWall(wall) / DAY_MS) * DAY_MS
  const usual = printWall(midnight + ((timeOfDay + DAY_MS) % DAY_MS))
  return toInstant(usual, zone) === instant ? usual : wall
}
