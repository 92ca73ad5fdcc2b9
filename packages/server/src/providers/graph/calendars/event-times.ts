import { z } from 'zod'
import { isDay, printDay, requireWall, DAY_MS } from '../../../kit/wall-clock.ts'
import { readTime } from '../../../kit/written-time.ts'
import { findNamedZone } from '../../../kit/zones/named-zone.ts'
import { toInstant, toWall } from '../../../kit/zones/zones.ts'
import type { EventTime } from '../../calendars.ts'

const UTC = 'UTC'
const TIME_CHARACTERS = 'YYYY-MM-DDTHH:MM:SS'.length
const MIDNIGHT = 'T000000'

/** A `dateTimeTimeZone`. Without a preference, Graph shows times in UTC. */
export const timeSchema = z.object({ dateTime: z.string().max(100), timeZone: z.string().max(255).nullish() })
export type GivenTime = z.infer<typeof timeSchema>

/** A zone as Exchange writes it for events that came from elsewhere. */
const EXCHANGE_UTC = 'tzone://microsoft/utc'

/**
 * The zone of the first of these names that is one; null if none is. Graph does not describe the rules of custom zones,
 * such as `tzone://Microsoft/Custom`, but the instants of their events.
 */
export function findZone(...names: ReadonlyArray<string | null | undefined>): string | null {
  for (const name of names) {
    const zone = name?.toLowerCase() === EXCHANGE_UTC ? UTC : findNamedZone(name ?? '')
    if (zone !== null) return zone
  }
  return null
}

/**
 * A time of an event in its own zone; null if it is none. An event of whole days has days. They are shown at midnight, or
 * as the instant of midnight in the zone of the event.
 */
export function toEventTime(
  given: GivenTime,
  { isAllDay, zone }: { isAllDay: boolean; zone: string },
): EventTime | null {
  const shown = readTime(given.dateTime.slice(0, TIME_CHARACTERS))?.wall
  if (shown === undefined) return null
  if (isDay(shown)) return isAllDay ? { wall: shown, zone: null } : null
  if (isAllDay && shown.endsWith(MIDNIGHT)) return { wall: shown.slice(0, 8), zone: null }
  const wall = inYears(() => toWall(toInstant(shown, findNamedZone(given.timeZone ?? '') ?? UTC), zone))
  if (wall === null) return null
  return isAllDay ? { wall: wall.slice(0, 8), zone: null } : { wall, zone }
}

/** Start and end of an event; null without a start that can be read. The end is not before the start. */
export function toEventTimes(
  { start, end }: { start: GivenTime; end?: GivenTime | null | undefined },
  { isAllDay, zone, endZone }: { isAllDay: boolean; zone: string; endZone: string },
): { start: EventTime; end: EventTime } | null {
  const first = toEventTime(start, { isAllDay, zone })
  if (!first) return null
  const last = end ? toEventTime(end, { isAllDay, zone: endZone }) : null
  if (isDay(first.wall)) return { start: first, end: last && last.wall > first.wall ? last : dayAfter(first) }
  return { start: first, end: last && instantOf(last) >= instantOf(first) ? last : first }
}

/** The instant of a time in milliseconds. Days are taken in UTC. */
export const instantOf = ({ wall, zone }: EventTime): number => toInstant(wall, zone ?? UTC)

const LAST_DAY = '99991231'

const dayAfter = (day: EventTime): EventTime =>
  day.wall >= LAST_DAY ? day : { wall: printDay(requireWall(day.wall) + DAY_MS), zone: null }

/** The result; null if a year does not have four digits. */
function inYears<T>(calculate: () => T): T | null {
  try {
    return calculate()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
