import type { ContentLine } from '../content-lines/content-line.ts'
import { makeParameter } from '../content-lines/print-line.ts'
import { isDay } from '../wall-clock.ts'
import { toInstant, toWall } from '../zones/zones.ts'
import type { CheckedRecurrence } from './check-recurrence.ts'
import type { Member } from './expand.ts'
import type { SeriesStart } from './member.ts'

/* Lines of recurrence as they are written. */

/** A line with another value. Its name and its parameters stay as they are written. */
export function withValue({ rawName, parameters }: ContentLine, value: string): string {
  return `${[rawName, ...parameters.map(({ raw }) => raw)].join(';')}:${value}`
}

/** The value of a rule with other parts, which come last. Null removes a part. All others stay as they are written. */
export function withParts(value: string, changes: Readonly<Record<string, string | null>>): string {
  const kept = value.split(';').filter(part => {
    const name = part.split('=')[0]!.trim().toUpperCase()
    return name !== '' && !(name in changes)
  })
  const added = Object.entries(changes).flatMap(([name, text]) => (text === null ? [] : `${name}=${text}`))
  return [...kept, ...added].join(';')
}

/** An UNTIL of the type that a start requires: a day, a time in UTC, or a floating time (RFC 5545 section 3.3.10). */
export function printUntil(wall: string, start: SeriesStart): string {
  if (isDay(start.wall)) return wall.slice(0, 8)
  const time = isDay(wall) ? `${wall}T235959` : wall
  return start.zone === null ? time : `${toWall(toInstant(time, start.zone), 'UTC')}Z`
}

/** A TZID parameter. Names of the IANA database need no quotes, and are written without. */
export function printTzid(tzid: string): string {
  return /[^\w.+/-]/.test(tzid) ? makeParameter('TZID', [tzid]).raw : `TZID=${tzid}`
}

/**
 * RDATE or EXDATE lines of members, which have the type and the zone of the start.
 * @param tzid by which a file names the zone of the start; its name unless given
 */
export function printDates(
  name: 'RDATE' | 'EXDATE',
  members: readonly Member[],
  start: SeriesStart,
  tzid: string | null = start.zone,
): string[] {
  const isUtc = start.zone === 'UTC' && tzid === 'UTC'
  const zone = isUtc || tzid === null || isDay(start.wall) ? '' : `;${printTzid(tzid)}`
  const print = (wall: string) => (isUtc && !isDay(wall) ? `${wall}Z` : wall)
  const line = (type: string, values: readonly string[]) =>
    values.length > 0 ? [`${name}${type}:${values.join(',')}`] : []
  const usual = members.filter(({ end }) => end === null)
  const days = usual.filter(({ wall }) => isDay(wall))
  const times = usual.filter(({ wall }) => !isDay(wall))
  const periods = members.filter(({ end }) => end !== null)
  return [
    ...line(
      ';VALUE=DATE',
      days.map(({ wall }) => wall),
    ),
    ...line(
      zone,
      times.map(({ wall }) => print(wall)),
    ),
    ...line(
      `;VALUE=PERIOD${zone}`,
      periods.map(({ wall, end }) => `${print(wall)}/${print(end!)}`),
    ),
  ]
}

/** The RRULE and RDATE lines of recurrence as a caller gives it. `printDates` makes the EXDATEs of `taken`. */
export function printRecurrence(
  { rule, dates }: CheckedRecurrence,
  start: SeriesStart,
  tzid?: string | null,
): string[] {
  return [`RRULE:${rule}`, ...printDates('RDATE', dates, start, tzid)]
}
