import { Temporal } from 'temporal-polyfill'
import type { Moment } from '../../calendaring/moments.ts'

/** A time as the API has it. */
export interface EventTime {
  date?: string
  dateTime?: string
  timeZone?: string
}

/** A moment as an answer has it. Instants are shown with the offset of the zone that is given, and name their own. */
export function presentTime(moment: Moment, zone: string): EventTime {
  if ('day' in moment) return { date: moment.day }
  const shown = Temporal.Instant.fromEpochMilliseconds(moment.at).toZonedDateTimeISO(zone)
  const text = shown.toString({ timeZoneName: 'never', smallestUnit: 'second' })
  return { dateTime: text.replace(/\+00:00$/, 'Z'), timeZone: moment.zone }
}
