import { DAY_MS, instantOf, isZone, type Moment, wallOf } from '../../../calendaring/moments.ts'
import { ianaZone } from '../../mailbox/windows-zones.ts'
import { badRequest, GraphRefusal } from '../errors.ts'
import { objectIn, text, wrongValue } from '../message-input.ts'
import type { Preferences } from '../prefer.ts'

/** A zone as a client names it, and its IANA name. */
export interface NamedZone {
  readonly name: string
  readonly zone: string
}

/** A time of an event as Graph writes it. */
export interface DateTimeTimeZone {
  readonly dateTime: string
  readonly timeZone: string
}

const UTC: NamedZone = { name: 'UTC', zone: 'UTC' }

/** The zone in which the times of an answer are shown. */
export const preferredZone = ({ timeZone }: Preferences): NamedZone =>
  timeZone === null ? UTC : requireZone(timeZone)

export function requireZone(name: string): NamedZone {
  const zone = ianaZone(name)
  if (zone !== null && isZone(zone)) return { name, zone }
  throw badRequest(
    `A valid TimeZone value must be specified. The following TimeZone value is not supported: '${name}'.`,
    'TimeZoneNotSupportedException',
  )
}

/** A time that a client wrote: a wall clock in a zone. */
export interface WrittenTime extends NamedZone {
  /** Milliseconds since 1970, as if the clock showed UTC. */
  readonly wall: number
}

const LOCAL = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(:\d\d)?(?:\.\d{1,7})?)?(Z|[+-]\d\d:\d\d)?$/i

/** Reads a `dateTimeTimeZone`. A time with an offset is shown in the zone that it names. */
export function readTime(value: unknown, name: string): WrittenTime {
  const given = objectIn(value, name)
  const named = requireZone(text(given['timeZone'], name) || 'UTC')
  const [, date = '', time = '00:00', seconds = ':00', offset] =
    LOCAL.exec(text(given['dateTime'], name)) ?? []
  const wall = Date.parse(`${date}T${time}${seconds}Z`)
  if (Number.isNaN(wall)) throw wrongValue(name)
  if (offset === undefined) return { ...named, wall }
  const at = Date.parse(`${date}T${time}${seconds}${offset}`)
  return { ...named, wall: wallOf({ at, zone: named.zone }) }
}

export const momentOf = ({ wall, zone }: WrittenTime, isAllDay: boolean): Moment =>
  isAllDay ? { day: new Date(wall).toISOString().slice(0, 10) } : { at: instantOf(wall, zone), zone }

/** Events of whole days begin at midnight, whatever zone is preferred. */
export function presentTime(moment: Moment, { name, zone }: NamedZone): DateTimeTimeZone {
  const wall = wallOf('day' in moment ? moment : { at: moment.at, zone })
  return { dateTime: `${new Date(wall).toISOString().slice(0, 19)}.0000000`, timeZone: name }
}

/** Days of a calendar view at most. */
const VIEW_DAYS_MAX = 1_825

/** The time of a calendar view. Bounds without an offset are in UTC, whatever zone is preferred. */
export function spanIn(parameters: ReadonlyMap<string, string>): { from: number; to: number } {
  const [from, to] = ['startdatetime', 'enddatetime'].map(name => boundIn(parameters.get(name)))
  if (from === undefined || to === undefined) throw noSpan()
  if (to < from) throw badRequest('The start time must be before the end time.', 'ErrorInvalidParameter')
  if (to - from > VIEW_DAYS_MAX * DAY_MS)
    throw new GraphRefusal(
      400,
      'ErrorCalendarViewRangeTooBig',
      `The specified view range exceeds the maximum range of ${VIEW_DAYS_MAX} days.`,
    )
  return { from, to }
}

const noSpan = (): GraphRefusal =>
  badRequest(
    'This request requires a time window specified by the query string parameters StartDateTime and EndDateTime.',
    'ErrorInvalidParameter',
  )

function boundIn(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  // In a query, the sign of an offset may have become a space.
  const [, date = '', time = '00:00', seconds = ':00', offset = 'Z'] =
    LOCAL.exec(given.trim().replace(' ', '+')) ?? []
  const at = Date.parse(`${date}T${time}${seconds}${offset}`)
  if (Number.isNaN(at)) throw noSpan()
  return at
}
