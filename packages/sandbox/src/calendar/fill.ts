import { shareEvent } from './invitations.ts'
import type { CalendarParts } from './parts.ts'
import { readEvent } from './api/event-input.ts'
import {
  type Calendar,
  type CalendarList,
  newCalendar,
  organizerOf,
  recordEvent,
  type StoredEvent,
} from './store/calendars.ts'
import { exceptionsIn, instancesOf } from './store/members.ts'
import { DAY_MS, wallAt } from '../calendaring/moments.ts'

type Json = Record<string, unknown>

const HOUR_MS = 3_600_000
const BERLIN = 'Europe/Berlin'
const NEW_YORK = 'America/New_York'

/**
 * Fills the calendar of a new user with a week: a stand-up that recurs, with one occurrence at another time and one
 * cancelled, a holiday, a call in another zone, lunch in a second calendar, and an invitation to the user before.
 */
export function fillCalendar(
  parts: CalendarParts,
  list: CalendarList,
  primary: Calendar,
  guest: string | null,
): void {
  const { store } = parts
  const monday = mondayOf(store.now(), BERLIN)
  const add = (calendar: Calendar, body: Json): StoredEvent => addEvent(parts, list, calendar, body)
  const at = (day: number, hour: number, zone: string): Json => ({
    dateTime: new Date(monday + day * DAY_MS + hour * HOUR_MS).toISOString().slice(0, 19),
    timeZone: zone,
  })
  const day = (number: number): Json => ({
    date: new Date(monday + number * DAY_MS).toISOString().slice(0, 10),
  })
  const standUp = add(primary, {
    summary: 'Stand-up',
    start: at(0, 9.25, BERLIN),
    end: at(0, 9.5, BERLIN),
    recurrence: ['RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR'],
    location: 'Room 4',
  })
  const members = instancesOf(
    standUp,
    exceptionsIn(primary).get(standUp.id) ?? [],
    monday,
    monday + 7 * DAY_MS,
  )
  const [, tuesday, , thursday] = members
  if (tuesday && 'at' in tuesday.start && 'at' in tuesday.end) {
    const start = { ...tuesday.start, at: tuesday.start.at + HOUR_MS }
    const end = { ...tuesday.end, at: tuesday.end.at + HOUR_MS }
    recordEvent(store, primary, { ...tuesday, start, end })
  }
  if (thursday) recordEvent(store, primary, { ...thursday, status: 'cancelled' })
  add(primary, {
    summary: 'Holiday',
    start: day(4),
    end: day(5),
    transparency: 'transparent',
  })
  add(primary, {
    summary: 'Call with New York',
    description: '<p>Agenda: <b>plans</b> &amp; budget</p>',
    start: at(2, 10, NEW_YORK),
    end: at(2, 11, NEW_YORK),
  })
  const personal = newCalendar(store, list, { fields: { summary: 'Personal', timeZone: BERLIN } })
  add(personal, {
    summary: 'Lunch',
    start: at(3, 12.5, BERLIN),
    end: at(3, 13.5, BERLIN),
    visibility: 'private',
  })
  if (guest !== null)
    add(primary, {
      summary: 'Planning',
      start: at(1, 15, BERLIN),
      end: at(1, 16, BERLIN),
      attendees: [{ email: primary.id, responseStatus: 'accepted' }, { email: guest }],
    })
}

/** Midnight of the Monday of this week, as a wall clock. */
function mondayOf(now: number, zone: string): number {
  const wall = wallAt(now, zone)
  const midnight = wall - (wall % DAY_MS)
  return midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * DAY_MS
}

/** Adds an event as another client of its calendar's owner would. */
export function addEvent(
  parts: CalendarParts,
  list: CalendarList,
  calendar: Calendar,
  body: Json,
): StoredEvent {
  const { store } = parts
  const id = typeof body['id'] === 'string' ? body['id'] : store.random.hex(26)
  const organizer = organizerOf(calendar, calendar.isPrimary ? list.name : undefined)
  const event = recordEvent(store, calendar, {
    ...readEvent(body, calendar.fields.timeZone),
    id,
    iCalUID: `${id}@google.com`,
    exceptionTo: null,
    creator: { email: list.email, displayName: list.name },
    organizer,
    conferenceAt: null,
    sequence: 0,
    createdAt: store.now(),
  })
  shareEvent(parts, calendar, event, null)
  return event
}
