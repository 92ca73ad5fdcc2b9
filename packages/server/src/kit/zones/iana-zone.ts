import { Temporal } from 'temporal-polyfill'
import type { Transitions } from './transitions.ts'

/* Zones of the IANA Time Zone Database, as Node's ICU has them. */

/** The release of the zone data, such as `2026c`. Instants of future wall clocks depend on it. */
export const ZONE_DATA_RELEASE = process.versions['tz'] ?? 'unknown'

/** The years whose transitions are kept. Wall clocks of others are converted by Temporal, which takes longer. */
export const TABLE_START = Date.UTC(1970, 0)
export const TABLE_END = Date.UTC(2100, 0)

const NAME_LENGTH_MAX = 64
/** ICU also accepts offsets and names of System V, which are not in the database. */
const NOT_IANA = /^(?:[^a-z]|systemv\/)/i

/** One entry for each zone that was asked for, so their number is bounded by the database. */
const tables = new Map<string, Transitions>()

/** The name as the database writes it, given in any case; aliases stay as they are. Null if it is not in the database. */
export function findIanaName(name: string): string | null {
  if (tables.has(name)) return name
  if (name.length > NAME_LENGTH_MAX || NOT_IANA.test(name)) return null
  try {
    return startOfTable(name).timeZoneId
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * The transitions of a zone from `TABLE_START` up to `TABLE_END`. They are read once, which takes some milliseconds.
 * @throws RangeError if the database lacks the name
 */
export function requireIanaTable(name: string): Transitions {
  const known = tables.get(name)
  if (known) return known
  if (findIanaName(name) !== name) throw new RangeError(`${name.slice(0, NAME_LENGTH_MAX)} is no time zone`)
  const table = readTransitions(name)
  tables.set(name, table)
  return table
}

function readTransitions(name: string): Transitions {
  const at: number[] = []
  let time: Temporal.ZonedDateTime | null = startOfTable(name)
  const offsets = [offsetOf(time)]
  while ((time = time.getTimeZoneTransition('next')) && time.epochMilliseconds < TABLE_END) {
    at.push(time.epochMilliseconds)
    offsets.push(offsetOf(time))
  }
  return { at, offsets }
}

const startOfTable = (name: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(TABLE_START).toZonedDateTimeISO(name)

const offsetOf = (time: Temporal.ZonedDateTime): number => time.offsetNanoseconds / 1e6

/** The instant of any wall time by Temporal. */
export function convertToInstant(wallTime: number, name: string): number {
  const wall = Temporal.Instant.fromEpochMilliseconds(wallTime).toZonedDateTimeISO('UTC').toPlainDateTime()
  return wall.toZonedDateTime(name, { disambiguation: 'compatible' }).epochMilliseconds
}

/** The offset at any instant by Temporal, which is quicker than a table for a few instants. */
export function convertToOffset(instant: number, name: string): number {
  return offsetOf(Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(name))
}
