import { isDay } from '../../../../kit/wall-clock.ts'
import { findWindowsName, findWindowsZone } from '../../../../kit/zones/windows-zone.ts'
import { toInstant, toWall } from '../../../../kit/zones/zones.ts'
import type { EventTime } from '../../../calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import type { EventTimes } from '../../../new-times.ts'

/** A `dateTimeTimeZone` (learn.microsoft.com/graph/api/resources/datetimetimezone). */
export interface WrittenTime {
  dateTime: string
  timeZone: string
}

export interface WrittenTimes {
  start: WrittenTime
  end: WrittenTime
  isAllDay: boolean
}

/** The name that Exchange has for the zone of a time. Whole days lie in the zone of the mailbox. */
export function requireZoneName({ zone }: EventTime, mailboxZone: string | null): string {
  const named = zone ?? mailboxZone ?? 'UTC'
  const name = findWindowsName(named)
  if (name !== null) return name
  throw new ProviderFailure('unsupported', `Exchange has no time zone ${named.slice(0, 100)}.`)
}

/** The zone whose rules Exchange has for the zone of a time, which may be others than its own. */
export const zoneThere = (time: EventTime, mailboxZone: string | null): string | null =>
  time.zone === null ? null : findWindowsZone(requireZoneName(time, mailboxZone))

/** Whether a time is the same instant by the rules of another zone. */
export function isSameIn({ wall, zone }: EventTime, other: string | null): boolean {
  if (zone === null || other === null || zone === other || isDay(wall)) return true
  return toInstant(wall, other) === toInstant(wall, zone)
}

/** The times of a single or of a member as they are written, in UTC if Exchange has other rules for their zone. */
export function toTimes(times: EventTimes, mailboxZone: string | null): WrittenTimes {
  const isSame = (time: EventTime) => isSameIn(time, zoneThere(time, mailboxZone))
  const areSame = isSame(times.start) && isSame(times.end)
  return writeTimes(areSame ? times : { start: inUtc(times.start), end: inUtc(times.end) }, mailboxZone)
}

/** Times by their wall clocks. */
export function writeTimes({ start, end }: EventTimes, mailboxZone: string | null): WrittenTimes {
  const write = (time: EventTime) => ({
    dateTime: `${dateOf(time.wall)}T${clockOf(time.wall)}`,
    timeZone: requireZoneName(time, mailboxZone),
  })
  return { start: write(start), end: write(end), isAllDay: isDay(start.wall) }
}

const inUtc = ({ wall, zone }: EventTime): EventTime => ({
  wall: toWall(toInstant(wall, zone ?? 'UTC'), 'UTC'),
  zone: 'UTC',
})

/** `YYYY-MM-DD`. */
export const dateOf = (wall: string): string => wall.replace(/^(....)(..)(..).*$/, '$1-$2-$3')

const clockOf = (wall: string): string =>
  isDay(wall) ? '00:00:00' : wall.slice(9).replace(/^(..)(..)(..)$/, '$1:$2:$3')
