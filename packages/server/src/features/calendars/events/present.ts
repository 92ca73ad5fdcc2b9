import type { CalendarEvent, CalendarEventChange } from '@waxwing/contract/calendars/calendar-events.ts'
import { isDeepStrictEqual } from 'node:util'
import { isDay } from '../../../kit/wall-clock.ts'
import { presentZone } from '../../../kit/zones/zones.ts'
import type { EventAddress, EventTime } from '../../../providers/calendars.ts'
import type { EventRow } from './event-row.ts'
import type { ShownEvent } from './shown.ts'

/** A single, series or exception as it is shown. Null: a series of which only exceptions are known. */
export function presentEvent(row: EventRow): CalendarEvent | null {
  const { shown, start_at: startAt, end_at: endAt } = row
  if (!shown || !startAt || !endAt) return null
  const isSeries = row.kind === 'series'
  return {
    id: row.id,
    calendarId: row.calendar_id,
    kind: row.kind,
    seriesId: row.shown_series_id,
    originalStart: row.original_at?.toISOString() ?? null,
    ...presentShown(shown, { startAt, endAt }),
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
  { id, start_wall, end_wall, startAt, endAt }: OccurrenceTimes & { id: string },
): CalendarEvent {
  const start = { wall: start_wall, zone: shown.start.zone }
  const end = { wall: end_wall, zone: shown.end.zone }
  const presented = presentShown({ ...shown, start, end }, { startAt, endAt })
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

interface Instants {
  startAt: Date
  endAt: Date
}

interface OccurrenceTimes extends Instants {
  start_wall: string
  end_wall: string
}

function presentShown(shown: ShownEvent, { startAt, endAt }: Instants) {
  return {
    subject: shown.subject,
    snippet: shown.snippet,
    location: shown.location,
    start: presentTime(shown.start, startAt),
    end: presentTime(shown.end, endAt),
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

function presentTime({ wall, zone }: EventTime, instant: Date): CalendarEvent['start'] {
  if (isDay(wall)) {
    const date = `${wall.slice(0, 4)}-${wall.slice(4, 6)}-${wall.slice(6, 8)}`
    return { dateTime: null, date, timeZone: null }
  }
  return { dateTime: instant.toISOString(), date: null, timeZone: zone && presentZone(zone) }
}

/** The names of the fields that differ, as `calendar_event.updated` has them. A change of `updatedAt` alone is no event. */
export function changedEventFields(before: CalendarEvent, after: CalendarEvent): CalendarEventChange[] {
  const names = Object.keys(after) as Array<keyof CalendarEvent>
  return names.filter(
    (name): name is CalendarEventChange =>
      name !== 'id' && name !== 'updatedAt' && !isDeepStrictEqual(before[name], after[name]),
  )
}
