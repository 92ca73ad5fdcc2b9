import type { calendar_v3 as calendar } from '@googleapis/calendar'

/** The answers of the API, in the types that Google publishes. */
export interface Answers {
  calendar: calendar.Schema$Calendar
  channel: calendar.Schema$Channel
  entry: calendar.Schema$CalendarListEntry
  entries: calendar.Schema$CalendarList
  event: calendar.Schema$Event
  events: calendar.Schema$Events
  freeBusy: calendar.Schema$FreeBusyResponse
  setting: calendar.Schema$Setting
  settings: calendar.Schema$Settings
}
