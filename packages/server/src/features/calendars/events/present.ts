import type { CalendarEvent, CalendarEventChange } from '@waxwing/contract/calendars/calendar-events.ts'
import { isDeepStrictEqual } from 'node:util'
import { isDay } from '../../../kit/wall-clock.ts'
import { presentZone } from '../../../kit/zones/zones.ts'
import type { EventAddress, EventTime } from '../../../providers/calendars.ts'
import type { EventRow } from './event-row.ts'
import type { ShownEvent } from './shown.ts'
import { instantOf } from './spans.ts'

/** A single, series or exception as it is shown. Null: a series of which only exceptions are known. */
export function presentEvent(row: EventRow): CalendarEvent | null {
  const { shown, unzoned } = row
  if (!shown) return null
  const isSeries = row.kind === 'series'
  return {
    id: row.id,
    calendarId: row.calendar_id,
    kind: row.kind,
    seriesId: row.shown_series_id,
    originalStart: row.original_at?.toISOString() ?? null,
    ...presentShown(shown, unzoned),
    recurrence: isSeries ? (row.recurrence ?? []) : null,
    recurrenceTimeZone: isSeries && shown.start.zone ? presentZone(shown.start.zone) : null,
    cancelledStarts: isSeries ? (row.cancelled_starts ?? []) : null,
    updatedAt: row.updated_at.toISOString(),
  }
}

/** An occurrence of a series as it is shown. */
export function presentOccurrence(
  series: EventRow,
  shown: ShownEvent,
  { id, ...times }: { id: string; start_wall: string; end_wall: string },
): CalendarEvent {
  const { unzoned } = series
  const start = { wall: times.start_wall, zone: shown.start.zone }
  const end = { wall: times.end_wall, zone: shown.end.zone }
  const presented = presentShown({ ...shown, start, end }, unzoned)
  return {
    id,
    calendarId: series.calendar_id,
    kind: 'occurrence',
    seriesId: series.id,
    originalStart: presented.start.dateTime ?? `${presented.start.date}T00:00:00.000Z`,
    ...presented,
    recurrence: null,
    recurrenceTimeZone: null,
    cancelledStarts: null,
    updatedAt: series.updated_at.toISOString(),
  }
}

function presentShown(shown: ShownEvent, unzoned: string) {
  return {
    subject: shown.subject,
    snippet: shown.snippet,
    location: shown.location,
    start: presentTime(shown.start, unzoned),
    end: presentTime(shown.end, unzoned),
    isAllDay: isDay(shown.start.wall),
    organizer: shown.organizer && presentAddress(shown.organizer),
    attendees: shown.attendees.map(({ type, response, ...address }) => ({
      ...presentAddress(address),
      type,
      response,
    })),
    isOrganizer: shown.isOrganizer,
    selfResponse: shown.selfResponse,
    status: shown.status,
    showAs: shown.showAs,
    sensitivity: shown.sensitivity,
    onlineMeetingUrl: shown.onlineMeetingUrl,
    onlineMeetingProvider: shown.onlineMeetingProvider,
    iCalUid: shown.iCalUid,
    categories: [...shown.categories],
    hasAttachments: shown.hasAttachments,
    reminderMinutes: shown.reminderMinutes,
    webLink: shown.webLink,
  }
}

const presentAddress = ({ name, address }: EventAddress) => ({ name, address })

function presentTime(time: EventTime, unzoned: string): CalendarEvent['start'] {
  const { wall, zone } = time
  if (isDay(wall)) {
    const date = `${wall.slice(0, 4)}-${wall.slice(4, 6)}-${wall.slice(6, 8)}`
    return { dateTime: null, date, timeZone: null }
  }
  const dateTime = new Date(instantOf(time, unzoned)).toISOString()
  return { dateTime, date: null, timeZone: zone && presentZone(zone) }
}

/** The names of the fields that differ, as `calendar_event.updated` has them. A change of `updatedAt` alone is no event. */
export function changedEventFields(before: CalendarEvent, after: CalendarEvent): CalendarEventChange[] {
  const names = Object.keys(after) as Array<keyof CalendarEvent>
  return names.filter(
    (name): name is CalendarEventChange =>
      name !== 'id' && name !== 'updatedAt' && !isDeepStrictEqual(before[name], after[name]),
  )
}
