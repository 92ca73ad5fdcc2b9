import { isDay } from '../../../../kit/wall-clock.ts'
import { findWindowsName } from '../../../../kit/zones/windows-zone.ts'
import type { EventTime } from '../../../calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import type { EventTimes } from '../../../new-times.ts'

/** A `dateTimeTimeZone` (learn.microsoft.com/graph/api/resources/datetimetimezone). */
export interface WrittenTime {
  dateTime: string
  timeZone: string
}

/** The name that Exchange has for the zone of a time. Whole days lie in the zone of the mailbox. */
export function requireZoneName({ zone }: EventTime, mailboxZone: string | null): string {
  const named = zone ?? mailboxZone ?? 'UTC'
  const name = findWindowsName(named)
  if (name !== null) return name
  throw new ProviderFailure('unsupported', `Exchange has no time zone ${named.slice(0, 100)}.`)
}

/** The times of an event as they are written. */
export function toTimes(
  { start, end }: EventTimes,
  mailboxZone: string | null,
): { start: WrittenTime; end: WrittenTime; isAllDay: boolean } {
  const write = (time: EventTime) => ({
    dateTime: `${dateOf(time.wall)}T${clockOf(time.wall)}`,
    timeZone: requireZoneName(time, mailboxZone),
  })
  return { start: write(start), end: write(end), isAllDay: isDay(start.wall) }
}

/** `YYYY-MM-DD`. */
export const dateOf = (wall: string): string => wall.replace(/^(....)(..)(..).*$/, '$1-$2-$3')

const clockOf = (wall: string): string =>
  isDay(wall) ? '00:00:00' : wall.slice(9).replace(/^(..)(..)(..)$/, '$1:$2:$3')
