import { isDay } from '../../../kit/wall-clock.ts'
import { toInstant } from '../../../kit/zones/zones.ts'
import { presentZone } from '../../../kit/zones/zones.ts'
import type { EventTime } from '../../calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import type { Json } from './held-event.ts'

/** A time as it is written. The parts of the other kind are cleared, so that a day becomes a time and back. */
export function timeJson({ wall, zone }: EventTime): Json {
  if (isDay(wall)) return { date: dayText(wall), dateTime: null, timeZone: null }
  const timeZone = zone === null ? null : presentZone(zone)
  if (timeZone === null)
    throw new ProviderFailure(
      'unsupported',
      'Google Calendar takes times only in zones of the IANA database.',
    )
  return { date: null, dateTime: `${dayText(wall)}T${clockText(wall)}`, timeZone }
}

const dayText = (wall: string) => wall.replace(/^(\d{4})(\d\d)(\d\d).*$/, '$1-$2-$3')
const clockText = (wall: string) => wall.slice(9).replace(/^(\d\d)(\d\d)(\d\d)$/, '$1:$2:$3')

/** The original start of a member as instances are asked for. */
export function originalStartOf(member: string, zone: string | null): string {
  return isDay(member) ? dayText(member) : new Date(toInstant(member, zone ?? 'UTC')).toISOString()
}
