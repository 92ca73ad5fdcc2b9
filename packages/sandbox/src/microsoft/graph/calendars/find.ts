import type { Calendar, SharedCalendar } from '../../mailbox/event.ts'
import type { Mailbox } from '../../mailbox/mailbox.ts'
import { type CalendarEvent, findEvent } from '../../mailbox/occurrences.ts'
import { accessDenied, itemNotFound, malformedId } from '../errors.ts'
import { isIdForm } from '../messages.ts'
import { isDelegate } from '../writing.ts'
import type { MethodCall } from '../method.ts'
import { type EventView, eventViewOf } from './event-shape.ts'

/** Paths of one calendar: of the default one, and of any. */
export const CALENDAR_PATHS = ['calendar', 'calendars/{calendar}'] as const

/** Paths of lists of events: of the default calendar, and of any. */
export const EVENT_LIST_PATHS = ['events', ...CALENDAR_PATHS.map(path => `${path}/events`)]
export const EVENT_PATHS = EVENT_LIST_PATHS.map(path => `${path}/{event}`)
export const VIEW_PATHS = ['calendarView', ...CALENDAR_PATHS.map(path => `${path}/calendarView`)]

/** A calendar, the mailbox that has it, and the rights of the caller in it. */
export interface FoundCalendar {
  readonly mailbox: Mailbox
  readonly calendar: Calendar
  /** The entry of the caller's list if the calendar is another user's. */
  readonly entry: SharedCalendar | null
  readonly canEdit: boolean
  readonly masked: EventView['masked']
  readonly hidesPrivate: boolean
}

/** The calendar as its owner, or a delegate of the mailbox, has it. */
const ownCalendar = (
  call: Pick<MethodCall, 'mailbox' | 'caller' | 'owner'>,
  calendar: Calendar,
): FoundCalendar => ({
  mailbox: call.mailbox,
  calendar,
  entry: null,
  canEdit: true,
  masked: null,
  hidesPrivate: isDelegate(call),
})

/** The calendar of an entry, with the rights of the role that its owner gave. */
export function sharedCalendar({ graph, mailbox }: MethodCall, entry: SharedCalendar): FoundCalendar {
  const { calendar } = entry
  const role = calendar.shares.get(mailbox.email) ?? 'freeBusyRead'
  return {
    mailbox: graph.mailboxOf({ email: calendar.owner }),
    calendar,
    entry,
    canEdit: role === 'write',
    masked: role === 'freeBusyRead' || role === 'limitedRead' ? role : null,
    hidesPrivate: true,
  }
}

/** All calendars of the caller's list, the default one first. */
export const calendarsOf = (call: MethodCall): FoundCalendar[] => [
  ...[...call.mailbox.calendars.own.values()].map(calendar => ownCalendar(call, calendar)),
  ...[...call.mailbox.calendars.shared.values()].map(entry => sharedCalendar(call, entry)),
]

/** Finds the calendar of a call; without one in the path, the default one. */
export function requireCalendar(call: MethodCall): FoundCalendar {
  const id = call.params['calendar']
  const { main, own, shared } = call.mailbox.calendars
  if (id === undefined) return ownCalendar(call, main)
  const calendar = own.get(id)
  if (calendar) return ownCalendar(call, calendar)
  const entry = shared.get(id)
  if (entry) return sharedCalendar(call, entry)
  throw isIdForm(id) ? itemNotFound() : malformedId()
}

export interface FoundEvent extends FoundCalendar {
  readonly event: CalendarEvent
}

/** Finds the event of a call, which has to be in the calendar of the path if there is one. */
export function requireEvent(call: MethodCall): FoundEvent {
  const id = call.params['event'] ?? ''
  const found = requireCalendar(call)
  const event = findEvent(found.mailbox, id)
  if (!event) throw isIdForm(id) ? itemNotFound() : malformedId()
  const calendar = found.mailbox.calendars.byEvent.get(event.of.number)
  if (!calendar || (call.params['calendar'] !== undefined && calendar !== found.calendar))
    throw itemNotFound()
  return { ...found, calendar, event }
}

/** Refuses a caller who may only read the calendar. */
export function requireWriter<Found extends FoundCalendar>(found: Found): Found {
  if (!found.canEdit) throw accessDenied()
  return found
}

/** The view of events of a calendar that a request asks for. */
export const viewIn = (call: MethodCall, found: FoundCalendar): EventView => eventViewOf(call, found)
