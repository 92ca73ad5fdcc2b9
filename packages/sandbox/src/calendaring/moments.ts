import { Temporal } from 'temporal-polyfill'

/** A whole day, or an instant (milliseconds since 1970) in the zone in which its event was made. */
export type Moment = { readonly day: string } | { readonly at: number; readonly zone: string }

export const DAY_MS = 24 * 3_600_000

export function isZone(zone: string): boolean {
  try {
    Temporal.Now.zonedDateTimeISO(zone)
    return /^[A-Za-z]/.test(zone)
  } catch {
    return false
  }
}

/**
 * The wall clock of an instant, as the milliseconds that it would be in UTC. Recurrence is computed on these: each is a
 * day of 24 hours, so that no change of the clocks drops a member.
 */
export function wallAt(at: number, zone: string): number {
  const { offsetNanoseconds } = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone)
  return at + offsetNanoseconds / 1e6
}

/** The instant of a wall clock. A wall clock that does not exist is moved forward; if it occurs twice, the first instant is meant. */
export const instantOf = (wall: number, zone: string): number =>
  Temporal.PlainDateTime.from(new Date(wall).toISOString().slice(0, -1)).toZonedDateTime(zone, {
    disambiguation: 'compatible',
  }).epochMilliseconds

export const wallOf = (moment: Moment): number =>
  'day' in moment ? Date.parse(`${moment.day}T00:00:00Z`) : wallAt(moment.at, moment.zone)

/** The moment of a wall clock, of the kind and in the zone of another one. */
export const momentLike = (like: Moment, wall: number): Moment =>
  'day' in like
    ? { day: new Date(wall).toISOString().slice(0, 10) }
    : { at: instantOf(wall, like.zone), zone: like.zone }

/** The instant of a moment. Days begin at midnight in the zone. */
export const atOf = (moment: Moment, zone: string): number =>
  'day' in moment ? instantOf(wallOf(moment), zone) : moment.at

export const sameMoment = (one: Moment, other: Moment): boolean =>
  'day' in one ? 'day' in other && one.day === other.day : 'at' in other && one.at === other.at

/** `20261124T090000Z`, or `20261124` for a day. */
export const basicText = (moment: Moment): string =>
  'day' in moment ? moment.day.replaceAll('-', '') : basicUtc(moment.at)

export const basicUtc = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`

/** Reads the date, or date and time, of iCalendar (RFC 5545 3.3.4, 3.3.5) as a wall clock; null for other text. */
export function parseBasic(text: string): { wall: number; isUtc: boolean; isDay: boolean } | null {
  const [, year, month, day, time, hour, minute, second, z] =
    /^(\d{4})(\d\d)(\d\d)(T(\d\d)(\d\d)(\d\d)(Z)?)?$/.exec(text) ?? []
  const iso = `${year}-${month}-${day}T${time ? `${hour}:${minute}:${second}` : '00:00:00'}Z`
  const wall = Date.parse(iso)
  return Number.isNaN(wall) ? null : { wall, isUtc: z !== undefined, isDay: time === undefined }
}
