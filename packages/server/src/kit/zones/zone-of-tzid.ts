import { DAY_MS } from '../wall-clock.ts'
import { findIanaName, convertToOffset, requireIanaTable } from './iana-zone.ts'
import { findIanaZone } from './named-zone.ts'
import { nameOwnZone } from './own-zone.ts'
import { offsetAt, type Transitions } from './transitions.ts'
import { locationOf, readDefinition, type ZoneDefinition } from './vtimezone.ts'
import { findWindowsZone, WORLD_ZONES } from './windows-zone.ts'

export interface NamedZone {
  tzid: string
  /** The VTIMEZONE of the TZID; null if there is none. */
  definition: ZoneDefinition | null
  /** The IANA name of the calendar's zone, which is preferred among equal ones; null if it has none. */
  preferred: string | null
  /** The time in which zones are compared, of which at most 20 years count. */
  window: { start: Date; end: Date }
}

export interface FoundZone {
  /** An IANA name or an `own:` reference. Null: nothing names a zone, and the calendar has none. */
  zone: string | null
  /** Zones that were not found by an IANA name or a Windows name are worth a line in the log. */
  by: 'iana' | 'windows' | 'location' | 'equal' | 'definition' | 'calendar'
}

/** The zones that are compared with definitions, better known ones first, without aliases. */
const COMPARED = [...new Set([...WORLD_ZONES, ...Intl.supportedValuesOf('timeZone')])]
const COMPARED_DAYS_MAX = 7310

/**
 * The zone of a TZID, which never fails. An IANA name counts whatever its definition is, since definitions are often
 * stale. A Windows name counts unless its definition differs in the window. Otherwise the definition counts: by its location
 * or an IANA zone that equals it on each day of the window, else by its own transitions. Without a definition that
 * can be read, the zone is the calendar's.
 */
export function zoneOfTzid({ tzid, definition, preferred, window }: NamedZone): FoundZone {
  const iana = findIanaZone(tzid)
  if (iana !== null) return { zone: iana, by: 'iana' }
  const calendar = preferred === null ? null : findIanaName(preferred)
  const own = definition && readDefinition(definition, window.start.getTime())
  const windows = findWindowsZone(tzid.trim())
  if (windows !== null && !(own && !isEqual(requireIanaTable(windows), own, window)))
    return { zone: windows, by: 'windows' }
  const location = definition && locationOf(definition)
  const located = location ? findIanaZone(location) : null
  if (located !== null) return { zone: located, by: 'location' }
  if (!own) return { zone: calendar, by: 'calendar' }
  const equal = findEqual(own, calendar, window)
  if (equal !== null) return { zone: equal, by: 'equal' }
  const reference = nameOwnZone(own)
  return reference === null ? { zone: calendar, by: 'calendar' } : { zone: reference, by: 'definition' }
}

/** Zones that were found before, by the transitions and days that were compared. */
const equalZones = new Map<string, string | null>()
const EQUAL_ZONES_MAX = 500

/** An IANA zone that equals a definition: the calendar's if it does. */
function findEqual(own: Transitions, calendar: string | null, window: NamedZone['window']): string | null {
  if (calendar !== null && isEqual(requireIanaTable(calendar), own, window)) return calendar
  const days = daysOf(window)
  const key = `${nameOwnZone(own)} ${days[0]} ${days.length}`
  const known = equalZones.get(key)
  if (known !== undefined) return known
  const found =
    COMPARED.find(zone => mayEqual(zone, own, days) && isEqual(requireIanaTable(zone), own, window)) ?? null
  if (equalZones.size >= EQUAL_ZONES_MAX) equalZones.clear()
  equalZones.set(key, found)
  return found
}

/** A quick look at the first days of months: the table of a zone costs milliseconds, and most zones differ here. */
function mayEqual(zone: string, own: Transitions, days: readonly number[]): boolean {
  return days.every((day, index) => index % 30 > 0 || convertToOffset(day, zone) === offsetAt(own, day))
}

function isEqual(zone: Transitions, own: Transitions, window: NamedZone['window']): boolean {
  return daysOf(window).every(day => offsetAt(zone, day) === offsetAt(own, day))
}

/** The instants at which the days of a window begin in UTC. */
function daysOf({ start, end }: NamedZone['window']): number[] {
  const first = Math.floor(start.getTime() / DAY_MS)
  const count = Math.ceil(end.getTime() / DAY_MS) - first
  return Array.from(
    { length: Math.min(Math.max(count, 1), COMPARED_DAYS_MAX) },
    (_, index) => (first + index) * DAY_MS,
  )
}
