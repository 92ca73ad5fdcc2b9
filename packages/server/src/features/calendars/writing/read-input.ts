import type {
  EventChangeInput,
  EventTimeInput,
  NewEvent,
} from '@waxwing/contract/calendars/calendar-event-input.ts'
import { refuse } from '../../../calls/refuse.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { isDay } from '../../../kit/wall-clock.ts'
import { findIanaName } from '../../../kit/zones/iana-zone.ts'
import { toWall } from '../../../kit/zones/zones.ts'
import type { EventTime } from '../../../providers/calendars.ts'
import type { AskedAttendee, EventChange } from '../../../providers/changing-calendars.ts'
import { instantOf } from '../events/spans.ts'

/** Zones move times by up to a day, and every time is to have a year of four digits in all of them. */
const [YEAR_MIN, YEAR_MAX] = ['0002', '9997']

export function refuseInput(path: ReadonlyArray<string | number>, message: string): never {
  refuse('invalid_input', { issues: [{ path: [...path], message }] })
}

/**
 * The wall clock that a start or an end names.
 * @param byDefault the zone of an instant without `timeZone`
 */
export function readEventTime(
  { dateTime, date, timeZone }: EventTimeInput,
  name: 'start' | 'end',
  byDefault: string,
): EventTime {
  if ((dateTime === undefined) === (date === undefined))
    refuseInput([name], 'must have either dateTime or date')
  const year = (date ?? dateTime ?? '').slice(0, 4)
  if (year < YEAR_MIN || year > YEAR_MAX)
    refuseInput([name], `must be of a year from ${Number(YEAR_MIN)} to ${YEAR_MAX}`)
  if (date !== undefined) {
    if (timeZone !== undefined) refuseInput([name, 'timeZone'], 'is not taken beside date')
    return { wall: date.replaceAll('-', ''), zone: null }
  }
  const zone = timeZone === undefined ? null : requireZone(timeZone, `${name}.timeZone`)
  const [, day = '', time = '', seconds = '00', offset] =
    /^([\d-]{10})T(\d\d:\d\d)(?::(\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/.exec(dateTime ?? '') ?? []
  if (offset !== undefined) {
    const instant = Date.parse(`${day}T${time}:${seconds}${offset}`)
    return { wall: toWall(instant, zone ?? byDefault), zone: zone ?? byDefault }
  }
  if (zone === null) refuseInput([name, 'timeZone'], 'is required for a dateTime without Z or an offset')
  return { wall: `${day}T${time}${seconds}`.replaceAll(/[-:]/g, ''), zone }
}

/**
 * The name of an IANA zone as the database writes it.
 * @param field the field that has the name
 */
export function requireZone(name: string, field: string): string {
  const message = `The time zone in ${field} is unknown. Use an IANA name such as Europe/Berlin.`
  return findIanaName(name) ?? refuse('invalid_time_zone', undefined, { message })
}

/** Refuses times of two types, and an end that is not after its start. */
export function requireTimes(start: EventTime, end: EventTime, unzoned: string): void {
  if (isDay(start.wall) !== isDay(end.wall)) refuse('mixed_event_times')
  if (instantOf(end, unzoned) <= instantOf(start, unzoned))
    refuse('invalid_range', undefined, { message: 'The end must be later than the start.' })
}

/** Instants without a zone cannot be those of a series, which follows the clock of one. */
export function requireSeriesZone(start: EventTimeInput): void {
  if (start.dateTime !== undefined && start.timeZone === undefined)
    refuseInput(['start', 'timeZone'], 'is required for a series')
}

/** Attendees without repeated addresses and without those of the account. */
export function readAttendees(given: NewEvent['attendees'], own: ReadonlySet<string>): AskedAttendee[] {
  const byAddress = new Map<string, AskedAttendee>()
  for (const { name, address, type } of given) {
    const compared = comparedAddress(address)
    if (own.has(compared) || byAddress.has(compared)) continue
    byAddress.set(compared, { name: name?.trim() || null, address, type })
  }
  return [...byAddress.values()]
}

/** The fields of a body that are taken as they are. A blank text clears, like null. */
export function readPlainFields(
  body: Omit<EventChangeInput, 'notify'>,
  own: ReadonlySet<string>,
): Omit<EventChange, 'start' | 'end' | 'recurrence'> {
  const { subject, location, attendees, showAs, sensitivity, reminderMinutes } = body
  const { onlineMeeting, onlineMeetingUrl } = body
  if (onlineMeeting === true && onlineMeetingUrl) refuse('multiple_meeting_options')
  return {
    ...(subject !== undefined && { subject: subject?.trim() ? subject : null }),
    ...(location !== undefined && { location: location?.trim() ? location : null }),
    ...(body.body !== undefined && { body: body.body?.content ? body.body : null }),
    ...(attendees !== undefined && { attendees: readAttendees(attendees, own) }),
    ...(showAs !== undefined && { showAs }),
    ...(sensitivity !== undefined && { sensitivity }),
    ...(reminderMinutes !== undefined && { reminderMinutes }),
    ...(onlineMeeting !== undefined && { onlineMeeting }),
    ...(onlineMeetingUrl !== undefined && { onlineMeetingUrl }),
  }
}
