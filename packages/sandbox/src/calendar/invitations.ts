import type { CalendarParts } from './parts.ts'
import { type Attendee, type Calendar, recordEvent, type StoredEvent } from './store/calendars.ts'
import { dropExceptions, findEvent } from './store/members.ts'

/** Fields that each copy of an event has of its own. */
const PERSONAL = ['reminders', 'colorId', 'transparency', 'visibility'] as const

/** The fields that all copies of an event have in common, as a text for comparisons. */
export function sharedText(event: StoredEvent): string {
  const { start, end, recurrence, status, attendees, organizer } = event
  return JSON.stringify([start, end, recurrence, status, attendees, organizer, sharedContents(event)])
}

function sharedContents({ contents }: StoredEvent): Record<string, unknown> {
  const { extendedProperties, ...others } = contents
  const shared = (extendedProperties as { shared?: unknown } | undefined)?.shared
  const kept = Object.entries(others).filter(([name]) => !PERSONAL.some(own => own === name))
  return {
    ...Object.fromEntries(kept.toSorted(([a], [b]) => (a < b ? -1 : 1))),
    ...(shared !== undefined && { extendedProperties: { shared } }),
  }
}

function personalContents({ contents }: StoredEvent): Record<string, unknown> {
  const own = (contents['extendedProperties'] as { private?: unknown } | undefined)?.private
  return {
    ...Object.fromEntries(PERSONAL.flatMap(name => (name in contents ? [[name, contents[name]]] : []))),
    ...(own !== undefined && { extendedProperties: { private: own } }),
  }
}

/** Puts the organizer's event into the primary calendars of its attendees, and takes it from those who are none any more. */
export function shareEvent(
  { store }: CalendarParts,
  organizer: Calendar,
  event: StoredEvent,
  before: StoredEvent | null,
): void {
  const invited = event.status === 'cancelled' ? [] : event.attendees.map(({ email }) => email)
  const all = new Set([...event.attendees, ...(before?.attendees ?? [])].map(({ email }) => email))
  for (const email of all) {
    const calendar = store.calendars.get(email)
    if (!calendar?.isPrimary || calendar === organizer) continue
    const copy = findEvent(calendar, event.id)
    if (invited.includes(email)) placeCopy(store, calendar, copy, event)
    else if (copy && copy.status !== 'cancelled') cancelCopy(store, calendar, copy)
  }
}

function placeCopy(
  store: CalendarParts['store'],
  calendar: Calendar,
  copy: StoredEvent | null,
  event: StoredEvent,
): void {
  const response = event.attendees.find(({ email }) => email === calendar.id)?.responseStatus
  // An attendee who deleted the invitation has declined it, and it does not come back.
  if (copy?.status === 'cancelled' && response === 'declined') return
  const shared = sharedContents(event)
  const personal: Record<string, unknown> = copy ? personalContents(copy) : {}
  const properties = {
    ...(shared['extendedProperties'] as object | undefined),
    ...(personal['extendedProperties'] as object | undefined),
  }
  const contents = {
    ...shared,
    ...personal,
    ...(Object.keys(properties).length > 0 && { extendedProperties: properties }),
  }
  const next = { ...event, contents }
  if (copy && calendar.events.has(copy.id) && sharedText(copy) === sharedText(next)) return
  recordEvent(store, calendar, { ...next, createdAt: copy?.createdAt ?? store.now() })
}

function cancelCopy(store: CalendarParts['store'], calendar: Calendar, copy: StoredEvent): void {
  recordEvent(store, calendar, { ...copy, status: 'cancelled' })
  dropExceptions(calendar, copy.id)
}

/** Reports the response of an attendee to the organizer, whose change reaches all other copies. */
export function reportResponse(
  parts: CalendarParts,
  calendar: Calendar,
  copy: StoredEvent,
  own: Attendee,
): void {
  const organizer = parts.store.calendars.get(copy.organizer.email)
  const event = organizer && findEvent(organizer, copy.id)
  if (!organizer || !event || event.status === 'cancelled') return
  const attendees = event.attendees.map(one =>
    one.email === calendar.id ? { ...one, responseStatus: own.responseStatus, comment: own.comment } : one,
  )
  const next = { ...event, attendees: attendees.map(withoutUndefined) }
  if (sharedText(next) === sharedText(event)) return
  shareEvent(parts, organizer, recordEvent(parts.store, organizer, next), event)
}

const withoutUndefined = ({ comment, ...one }: Attendee): Attendee =>
  comment === undefined ? one : { ...one, comment }
