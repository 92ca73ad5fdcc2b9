import type { CalendarWindow } from '../../../providers/calendars.ts'

/** How events of a calendar are recorded. */
export interface RecordingEvents {
  calendarId: string
  /** The zone in which whole days and floating times of the calendar lie. */
  unzoned: string
  /** The time that the index holds. */
  window: CalendarWindow
  /** The account's own addresses, as `comparedAddress` has them. */
  own: ReadonlySet<string>
}
