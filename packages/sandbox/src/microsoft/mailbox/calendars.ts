import { newChangeLog } from './change-log.ts'
import type { Calendar, CalendarColor, Calendars, EventChange, SharedCalendar, ShareRole } from './event.ts'
import { removeEvent } from './events.ts'
import { changeKey, folderId } from './ids.ts'
import { type Mailbox, nextNumber } from './mailbox.ts'

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Gives a new mailbox its calendar. */
export function addDefaultCalendar(mailbox: Mailbox): void {
  const main = newCalendar(mailbox, 'Calendar', 'auto')
  const calendars: Calendars = {
    main,
    own: new Map([[main.id, main]]),
    shared: new Map(),
    byEvent: new Map(),
    byId: new Map(),
    listeners: new Set(),
  }
  // Everybody else sees a mailbox whose fields are read-only.
  Object.assign(mailbox as Writable<Mailbox>, { calendars })
}

type Extended = Calendar['extended']

function newCalendar(
  mailbox: Mailbox,
  name: string,
  color: CalendarColor,
  extended: Extended = new Map(),
): Calendar {
  const number = nextNumber(mailbox)
  return {
    id: folderId(mailbox.store, number),
    number,
    owner: mailbox.email,
    name,
    color,
    changeKey: changeKey(number),
    extended,
    events: new Map(),
    log: newChangeLog<EventChange>(),
    shares: new Map(),
  }
}

export function addCalendar(
  mailbox: Mailbox,
  name: string,
  color: CalendarColor,
  extended?: Extended,
): Calendar {
  const calendar = newCalendar(mailbox, name, color, extended)
  mailbox.calendars.own.set(calendar.id, calendar)
  return calendar
}

export function changeCalendar(
  mailbox: Mailbox,
  calendar: Calendar | SharedCalendar,
  changes: { name?: string; color?: CalendarColor },
): void {
  const written = { ...changes, ...('events' in calendar && { changeKey: changeKey(nextNumber(mailbox)) }) }
  Object.assign(calendar as Writable<Calendar | SharedCalendar>, written)
}

/** Sets extended properties of a calendar. Others stay. */
export function markCalendar(calendar: Calendar, extended: Extended): void {
  Object.assign(calendar as Writable<Calendar>, { extended: new Map([...calendar.extended, ...extended]) })
}

/** Deletes a calendar with its events. */
export function removeCalendar(mailbox: Mailbox, calendar: Calendar): void {
  for (const event of calendar.events.values()) removeEvent(mailbox, calendar, event)
  mailbox.calendars.own.delete(calendar.id)
}

/** Gives a user a role in a calendar of another mailbox, and puts it into their list; null takes it from them. */
export function shareCalendar(mailbox: Mailbox, calendar: Calendar, role: ShareRole | null): void {
  const { shared } = mailbox.calendars
  const entry = [...shared.values()].find(one => one.calendar === calendar)
  if (role === null) {
    calendar.shares.delete(mailbox.email)
    if (entry) shared.delete(entry.id)
    return
  }
  calendar.shares.set(mailbox.email, role)
  if (entry) return
  const id = folderId(mailbox.store, nextNumber(mailbox))
  shared.set(id, { id, name: `${calendar.name} (${calendar.owner})`, color: 'auto', calendar })
}
