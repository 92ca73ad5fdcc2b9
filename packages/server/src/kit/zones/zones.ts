import { DAY_MS, printWall, requireWall } from '../wall-clock.ts'
import {
  convertToInstant,
  convertToOffset,
  findIanaName,
  requireIanaTable,
  TABLE_END,
  TABLE_START,
} from './iana-zone.ts'
import { isOwnZone, requireOwnTable } from './own-zone.ts'
import { instantOf, offsetAt, type Transitions } from './transitions.ts'

/*
 * Conversions between wall clocks and instants. A zone is a name of the IANA database, written as there, or an `own:`
 * reference that carries the transitions of a VTIMEZONE.
 */

/**
 * The instant of a wall clock in milliseconds, of a day that of its midnight. A wall clock that does not exist moves forward
 * by the gap; of one that occurs twice it is the first (RFC 5545 section 3.3.5).
 * @throws RangeError if the wall clock or the zone is none
 */
export function toInstant(wall: string, zone: string): number {
  const wallTime = requireWall(wall)
  if (isOwnZone(zone)) return instantOf(requireOwnTable(zone), wallTime)
  const table = requireIanaTable(zone)
  // A zone's offset is less than a day.
  const isInTable = wallTime >= TABLE_START + DAY_MS && wallTime < TABLE_END - DAY_MS
  return isInTable ? instantOf(table, wallTime) : convertToInstant(wallTime, zone)
}

/**
 * The wall clock of an instant, which is given in milliseconds, without the fraction of its second.
 * @throws RangeError if the zone is none, or the year does not have four digits
 */
export function toWall(instant: number, zone: string): string {
  const second = Math.floor(instant / 1000) * 1000
  if (isOwnZone(zone)) return printWall(second + offsetAt(requireOwnTable(zone), second))
  const table = requireIanaTable(zone)
  const isInTable = second >= TABLE_START && second < TABLE_END
  return printWall(isInTable ? second + offsetAt(table, second) : second + convertToOffset(second, zone))
}

/** Whether the IANA database has the name, also as an alias, and in this case. */
export function isZone(name: string): boolean {
  return findIanaName(name) === name
}

/** The IANA name of a zone; null for a zone that is not in the database. */
export function presentZone(zone: string): string | null {
  return isOwnZone(zone) ? null : zone
}

/** The transitions of a zone, of one in the database from 1970 up to 2100. @throws RangeError if it is none */
export function requireTransitions(zone: string): Transitions {
  return isOwnZone(zone) ? requireOwnTable(zone) : requireIanaTable(zone)
}
