import { hash } from 'node:crypto'
import {
  type Calendar,
  isAtLeast,
  type ListEntry,
  type Party,
  type Role,
  type StoredEvent,
} from '../store/calendars.ts'
import { atOf } from '../../calendaring/moments.ts'
import { presentTime } from '../store/times.ts'

/** The role of the caller who sees an event, and the zone of the answer. */
export interface Viewer {
  readonly role: Role
  readonly zone: string
}

const etagOfText = (text: string): string => `"${hash('sha1', text, 'base64url').slice(0, 18)}"`

export const eventEtag = (calendar: Calendar, { id, change }: StoredEvent): string =>
  etagOfText(`${calendar.id} ${id} ${change}`)

export const calendarEtag = ({ id, revision }: Calendar): string => etagOfText(`${id} ${revision}`)

export const entryEtag = ({ calendarId, change }: ListEntry): string =>
  etagOfText(`entry ${calendarId} ${change}`)

/** An event as an answer has it. A deleted one has little more than its id. */
export function presentEvent(calendar: Calendar, event: StoredEvent, viewer: Viewer): object {
  const { id, status, exceptionTo } = event
  const base = {
    kind: 'calendar#event',
    etag: eventEtag(calendar, event),
    id,
    status,
    ...(exceptionTo && {
      recurringEventId: exceptionTo.id,
      originalStartTime: presentTime(exceptionTo.start, viewer.zone),
    }),
  }
  if (status === 'cancelled') return base
  const times = {
    start: presentTime(event.start, viewer.zone),
    end: presentTime(event.end, viewer.zone),
    ...(event.recurrence.length > 0 && { recurrence: event.recurrence }),
  }
  const { visibility, transparency, ...contents } = event.contents
  const shared = {
    ...times,
    iCalUID: event.iCalUID,
    sequence: event.sequence,
    created: new Date(event.createdAt).toISOString(),
    updated: new Date(event.updatedAt).toISOString(),
    ...(transparency !== undefined && transparency !== 'opaque' && { transparency }),
  }
  if (!seesDetails(viewer.role, visibility)) return { ...base, ...shared, visibility: 'private' }
  const isHidden = contents['guestsCanSeeOtherGuests'] === false && event.organizer.email !== calendar.id
  const shown = event.attendees.filter(one => !isHidden || one.email === calendar.id)
  const party = (one: Party) => ({ ...one, ...(one.email === calendar.id && { self: true }) })
  return {
    ...base,
    ...shared,
    htmlLink: `https://www.google.com/calendar/event?eid=${Buffer.from(`${id} ${calendar.id}`).toString('base64url')}`,
    creator: party(event.creator),
    organizer: party(event.organizer),
    ...(shown.length < event.attendees.length && { attendeesOmitted: true }),
    ...(shown.length > 0 && {
      attendees: shown.map(one => ({
        ...party(one),
        ...(one.email === event.organizer.email && { organizer: true }),
      })),
    }),
    ...(visibility !== undefined && visibility !== 'default' && { visibility }),
    reminders: { useDefault: true },
    eventType: 'default',
    ...contents,
  }
}

const seesDetails = (role: Role, visibility: unknown): boolean =>
  isAtLeast(role, visibility === 'private' || visibility === 'confidential' ? 'writer' : 'reader')

export const presentCalendar = (calendar: Calendar): object => ({
  kind: 'calendar#calendar',
  etag: calendarEtag(calendar),
  id: calendar.id,
  conferenceProperties: { allowedConferenceSolutionTypes: ['hangoutsMeet'] },
  ...calendar.fields,
})

/** A calendar as a list has it. The calendar is undefined once it is deleted. */
export function presentEntry(entry: ListEntry, calendar: Calendar | undefined, role: Role | null): object {
  const base = { kind: 'calendar#calendarListEntry', etag: entryEtag(entry), id: entry.calendarId }
  if (entry.deleted || !calendar || !role) return { ...base, deleted: true }
  return {
    ...base,
    ...calendar.fields,
    accessRole: role,
    ...(calendar.isPrimary && role === 'owner' && { primary: true }),
    ...(!calendar.isPrimary && { dataOwner: calendar.owner }),
    conferenceProperties: { allowedConferenceSolutionTypes: ['hangoutsMeet'] },
    ...entry.fields,
  }
}

/** A text by which events are ordered by their start. */
export const startKey = ({ start, id }: StoredEvent, zone: string): string =>
  `${String(atOf(start, zone) + 1e15).padStart(17, '0')} ${id}`
