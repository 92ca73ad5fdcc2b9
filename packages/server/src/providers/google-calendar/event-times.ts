import { DAY_MS, isDay, printDay, printWall, requireWall } from '../../kit/wall-clock.ts'
import { readTime } from '../../kit/written-time.ts'
import { findNamedZone } from '../../kit/zones/named-zone.ts'
import { toInstant, toWall } from '../../kit/zones/zones.ts'
import type { EventTime } from '../calendars.ts'
import type { GoogleTime } from './event-schema.ts'

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/i

/**
 * A time of an answer; null if it is none. It is shown with the offset of the zone of the answer, and names the zone in which
 * its event was made; without one, that is the zone of the answer.
 * @param answerZone null if it is not known
 */
export function readEventTime(
  { date, dateTime, timeZone }: GoogleTime,
  answerZone: string | null,
): EventTime | null {
  if (date) {
    const day = readTime(date)
    return day && isDay(day.wall) ? { wall: day.wall, zone: null } : null
  }
  const [, local = '', offset] = TIME.exec(dateTime ?? '') ?? []
  const shown = readTime(local)
  if (!shown) return null
  const named = findNamedZone(timeZone ?? '')
  const zone = named ?? answerZone ?? 'UTC'
  // The wall clock is what Google shows, also if its zone data are of another release.
  if (offset === undefined || zone === answerZone) return { wall: shown.wall, zone }
  const instant = Date.parse(`${local}${offset}`)
  const wall = Number.isNaN(instant) ? null : wallIn(instant, zone)
  return wall === null ? null : { wall, zone }
}

/** The wall clock of an instant; null if its year does not have four digits. */
function wallIn(instant: number, zone: string): string | null {
  try {
    return toWall(instant, zone)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * Start and end of an event; null without a start that can be read. The end is not before the start. An event whose end is
 * unspecified has one in answers nevertheless, which is shown, as Google's own calendar shows it.
 */
export function readEventTimes(
  event: { start: GoogleTime; end?: GoogleTime | null | undefined },
  answerZone: string | null,
): { start: EventTime; end: EventTime } | null {
  const start = readEventTime(event.start, answerZone)
  if (!start) return null
  const given = event.end ? readEventTime(event.end, answerZone) : null
  const end = given && isDay(given.wall) === isDay(start.wall) ? given : null
  if (isDay(start.wall))
    return { start, end: end && end.wall > start.wall ? end : { wall: dayAfter(start.wall), zone: null } }
  return { start, end: end && instantIn(end) >= instantIn(start) ? end : start }
}

const instantIn = ({ wall, zone }: EventTime): number => toInstant(wall, zone ?? 'UTC')

/** The last day of the year 9999 is its own end. */
function dayAfter(day: string): string {
  return day === '99991231' ? day : printDay(requireWall(day) + DAY_MS)
}

/** Lengths of the gaps in wall clocks that changes of the time leave. */
const GAPS_MS = [30, 60, 120].map(minutes => minutes * 60_000)

/**
 * Whether another wall clock, which does not exist, may stand for the same instant: then only the series shows which of them
 * is the member.
 */
export function isAfterGap({ wall, zone }: EventTime): boolean {
  if (isDay(wall) || zone === null) return false
  const instant = toInstant(wall, zone)
  return GAPS_MS.some(gap => {
    const time = requireWall(wall) - gap
    return time > 0 && toInstant(printWall(time), zone) === instant
  })
}
