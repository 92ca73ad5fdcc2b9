import { DAY_MS, isDay, readWall, requireWall, WALL_TIME_END, WALL_TIME_MIN } from '../wall-clock.ts'
import { toInstant, toWall } from '../zones/zones.ts'
import type { SeriesStart } from './member.ts'

/** The end of a rule. */
export interface Until {
  /** The wall time that members lie before. */
  end: number
  /** The last instant of a member, if the rule names one: `end` then lies up to a day later. */
  lastInstant: number | null
}

/**
 * The end that an UNTIL gives to the rule of a series: in UTC an instant, as a local time a wall clock, both included; as a
 * day that whole local day (RFC 5545 section 3.3.10). Null if it cannot be read.
 */
export function readUntil(text: string, start: SeriesStart): Until | null {
  const isUtc = text.endsWith('Z')
  const wall = isUtc ? text.slice(0, -1) : text
  const time = readWall(wall)
  if (time === null) return null
  if (isDay(wall) || isDay(start.wall))
    return { end: Math.floor(time / DAY_MS) * DAY_MS + DAY_MS, lastInstant: null }
  if (!isUtc || start.zone === null) return { end: time + 1, lastInstant: null }
  // At both ends of the calendar a zone's wall clock may have no year of four digits.
  if (time >= WALL_TIME_END - 2 * DAY_MS) return { end: WALL_TIME_END, lastInstant: null }
  if (time < WALL_TIME_MIN + 2 * DAY_MS) return { end: WALL_TIME_MIN, lastInstant: null }
  return { end: requireWall(toWall(time, start.zone)) + DAY_MS, lastInstant: time }
}

/** Whether a member before `end` is not after the last instant. */
export function isWithin({ lastInstant }: Until, wall: string, { zone }: SeriesStart): boolean {
  return lastInstant === null || zone === null || toInstant(wall, zone) <= lastInstant
}
