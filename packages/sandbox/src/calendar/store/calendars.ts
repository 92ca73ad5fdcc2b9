import type { Random } from '../../world/random.ts'
import type { Moment } from '../../calendaring/moments.ts'

export const ROLES = ['freeBusyReader', 'reader', 'writer', 'owner'] as const
export type Role = (typeof ROLES)[number]

/** A person or calendar as an event names it. */
export interface Party {
  readonly email: string
  readonly displayName?: string
}

export const RESPONSES = ['needsAction', 'declined', 'tentative', 'accepted'] as const

export interface Attendee extends Party {
  readonly responseStatus: (typeof RESPONSES)[number]
  readonly optional?: boolean
  readonly resource?: boolean
  readonly comment?: string
  readonly additionalGuests?: number
}

/** An event as one calendar has it after one change: a single, a series or an exception. */
export interface StoredEvent {
  readonly id: string
  readonly iCalUID: string
  readonly start: Moment
  readonly end: Moment
  /** Lines of iCalendar; empty for all but a series. */
  readonly recurrence: readonly string[]
  /** The series of an exception, and the start that the rule gave it. */
  readonly exceptionTo: { readonly id: string; readonly start: Moment } | null
  readonly status: 'confirmed' | 'tentative' | 'cancelled'
  readonly attendees: readonly Attendee[]
  readonly organizer: Party
  readonly creator: Party
  /** All other fields, as clients wrote them. */
  readonly contents: Readonly<Record<string, unknown>>
  /** When a conference that was asked for is there, in milliseconds since 1970. */
  readonly conferenceAt: number | null
  /** SEQUENCE of iCalendar. */
  readonly sequence: number
  /** Counts the changes of the calendar; the last one of this event. */
  readonly change: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
}

export interface Calendar {
  /** The address of its user for a primary calendar. */
  readonly id: string
  readonly owner: string
  readonly isPrimary: boolean
  fields: { summary: string; description?: string; location?: string; timeZone: string }
  /** Roles by address. */
  readonly roles: Map<string, Role>
  readonly events: Map<string, StoredEvent>
  change: number
  /** Sync tokens of earlier generations have expired. */
  generation: number
  /** Counts the changes of `fields`. */
  revision: number
}

/** A calendar in a user's list. */
export interface ListEntry {
  readonly calendarId: string
  fields: Readonly<Record<string, unknown>>
  deleted: boolean
  change: number
}

/** The list of calendars of a user. */
export interface CalendarList {
  readonly email: string
  readonly name: string
  readonly organization: string | null
  readonly entries: Map<string, ListEntry>
  change: number
  generation: number
}

/** The calendars of all users, and who is told of changes. */
export interface Store {
  readonly now: () => number
  readonly random: Random
  readonly calendars: Map<string, Calendar>
  /** By address. */
  readonly lists: Map<string, CalendarList>
  /** Called with `events <calendar>` or `list <address>` after each change there. */
  changed(what: string): void
}

/** Puts an event into its calendar, in place of the one with its id. */
export function recordEvent(
  store: Store,
  calendar: Calendar,
  event: Omit<StoredEvent, 'change' | 'updatedAt'>,
): StoredEvent {
  calendar.change += 1
  const recorded = { ...event, change: calendar.change, updatedAt: store.now() }
  calendar.events.set(event.id, recorded)
  store.changed(`events ${calendar.id}`)
  return recorded
}

/** Puts a calendar into a user's list, or changes it there. */
export function recordEntry(store: Store, list: CalendarList, entry: Omit<ListEntry, 'change'>): ListEntry {
  list.change += 1
  const recorded = { ...entry, change: list.change }
  list.entries.set(entry.calendarId, recorded)
  store.changed(`list ${list.email}`)
  return recorded
}

/** Reports a change of a calendar's own fields, or of its roles, in all lists that have it. */
export function touchEntries(store: Store, calendar: Calendar): void {
  calendar.revision += 1
  for (const list of store.lists.values()) {
    const entry = list.entries.get(calendar.id)
    if (entry && !entry.deleted) recordEntry(store, list, entry)
  }
}

const COLORS = ['#9fe1e7', '#9fc6e7', '#16a765', '#f691b2', '#fad165'] as const

export function newCalendar(
  store: Store,
  list: CalendarList,
  given: Pick<Calendar, 'fields'> & { isPrimary?: boolean },
): Calendar {
  const { isPrimary = false, fields } = given
  const calendar: Calendar = {
    id: isPrimary ? list.email : `c_${store.random.hex(64)}@group.calendar.google.com`,
    owner: list.email,
    isPrimary,
    fields,
    roles: new Map([[list.email, 'owner']]),
    events: new Map(),
    change: 0,
    generation: 0,
    revision: 0,
  }
  store.calendars.set(calendar.id, calendar)
  subscribe(store, list, calendar, {})
  return calendar
}

export function subscribe(
  store: Store,
  list: CalendarList,
  calendar: Calendar,
  fields: Readonly<Record<string, unknown>>,
): ListEntry {
  const colored = {
    backgroundColor: store.random.pick(COLORS),
    foregroundColor: '#000000',
    selected: true,
    defaultReminders: calendar.isPrimary ? [{ method: 'popup', minutes: 10 }] : [],
    ...fields,
  }
  return recordEntry(store, list, { calendarId: calendar.id, fields: colored, deleted: false })
}

/** The role of a user in a calendar; null if it shows them nothing. Members of an organization see busy times. */
export function roleIn(store: Store, calendar: Calendar, email: string): Role | null {
  const role = calendar.roles.get(email)
  if (role) return role
  const organization = store.lists.get(calendar.owner)?.organization ?? null
  const isColleague = organization !== null && store.lists.get(email)?.organization === organization
  return calendar.isPrimary && isColleague ? 'freeBusyReader' : null
}

export const isAtLeast = (role: Role | null, least: Role): boolean =>
  role !== null && ROLES.indexOf(role) >= ROLES.indexOf(least)

export function deleteCalendar(store: Store, calendar: Calendar): void {
  store.calendars.delete(calendar.id)
  for (const list of store.lists.values()) {
    const entry = list.entries.get(calendar.id)
    if (entry && !entry.deleted) recordEntry(store, list, { ...entry, deleted: true })
  }
}

export const organizerOf = ({ id, isPrimary, fields }: Calendar, name?: string): Party => ({
  email: id,
  ...(isPrimary ? name && { displayName: name } : { displayName: fields.summary }),
})
