import { recordChange } from './change-log.ts'
import {
  type Calendar,
  EVENT_DEFAULTS,
  type EventException,
  type EventFields,
  type StoredEvent,
} from './event.ts'
import { changeKey, immutableId, placeId } from './ids.ts'
import { type Mailbox, nextChange, nextNumber } from './mailbox.ts'
import type { Recipient } from './message.ts'
import type { Recurrence } from './recurrence.ts'

const FIELD_NAMES = [...Object.keys(EVENT_DEFAULTS), 'start', 'end', 'startZone', 'endZone']

/** The fields of an event that its copies can share. */
export const fieldsOf = (event: EventFields): EventFields =>
  // The names are those of the fields.
  Object.fromEntries(
    FIELD_NAMES.map(name => [name, event[name as keyof EventFields]]),
  ) as unknown as EventFields

/** A new event: its fields, and those that never change. */
export interface NewEvent {
  readonly fields: EventFields
  readonly recurrence: Recurrence | null
  readonly uid: string
  readonly organizer: Recipient
  readonly isOrganizer: boolean
  readonly transactionId?: string | null
  readonly transaction?: string | null
  readonly exceptions?: ReadonlyMap<number, EventException>
  readonly deleted?: ReadonlySet<number>
}

export function addEvent(mailbox: Mailbox, calendar: Calendar, given: NewEvent): StoredEvent {
  const {
    fields,
    exceptions = new Map(),
    deleted = new Set(),
    transactionId = null,
    transaction = null,
    ...others
  } = given
  const number = nextNumber(mailbox)
  const event: StoredEvent = {
    ...fields,
    ...others,
    transactionId,
    transaction,
    exceptions,
    deleted,
    number,
    immutableId: immutableId(mailbox.store, number),
    id: placeId(mailbox.store, calendar.number, number),
    changeKey: changeKey(number),
    createdAt: mailbox.now(),
    modifiedAt: mailbox.now(),
  }
  const { byEvent, byId } = mailbox.calendars
  byEvent.set(number, calendar)
  for (const id of [event.id, event.immutableId]) byId.set(id, number)
  calendar.events.set(number, event)
  announce(mailbox, calendar, { before: null, after: event, day: null })
  return event
}

/** Changes a single event or a whole series. */
export function changeEvent(
  mailbox: Mailbox,
  calendar: Calendar,
  before: StoredEvent,
  changes: Partial<EventFields & Pick<StoredEvent, 'recurrence' | 'exceptions' | 'deleted'>>,
): StoredEvent {
  return put(mailbox, calendar, { before, day: null, changes })
}

/** Changes one occurrence of a series, which becomes an exception. */
export function changeOccurrence(
  mailbox: Mailbox,
  calendar: Calendar,
  before: StoredEvent,
  { day, fields }: { day: number; fields: Partial<EventFields> },
): StoredEvent {
  const known = before.exceptions.get(day)
  const at = mailbox.now()
  const exception: EventException = {
    fields: { ...known?.fields, ...fields },
    changeKey: changeKey(nextNumber(mailbox)),
    createdAt: known?.createdAt ?? at,
    modifiedAt: at,
  }
  const exceptions = new Map([...before.exceptions, [day, exception]])
  return put(mailbox, calendar, { before, day, changes: { exceptions } })
}

/** Takes one occurrence from its series. */
export function deleteOccurrence(
  mailbox: Mailbox,
  calendar: Calendar,
  before: StoredEvent,
  day: number,
): StoredEvent {
  const exceptions = new Map(before.exceptions)
  exceptions.delete(day)
  const deleted = new Set([...before.deleted, day])
  return put(mailbox, calendar, { before, day, changes: { exceptions, deleted } })
}

/** Deletes a single event or a whole series: its ids find nothing from now on. */
export function removeEvent(mailbox: Mailbox, calendar: Calendar, before: StoredEvent): void {
  const { byEvent, byId } = mailbox.calendars
  byEvent.delete(before.number)
  for (const id of [before.id, before.immutableId]) byId.delete(id)
  calendar.events.delete(before.number)
  announce(mailbox, calendar, { before, after: null, day: null })
}

/** Moves an event to another calendar as clients do: it has other ids there, and the same UID. */
export function moveEvent(mailbox: Mailbox, from: Calendar, to: Calendar, event: StoredEvent): StoredEvent {
  const { recurrence, uid, organizer, isOrganizer, exceptions, deleted } = event
  const moved = { fields: fieldsOf(event), recurrence, uid, organizer, isOrganizer, exceptions, deleted }
  const made = addEvent(mailbox, to, moved)
  removeEvent(mailbox, from, event)
  return made
}

function put(
  mailbox: Mailbox,
  calendar: Calendar,
  { before, day, changes }: { before: StoredEvent; day: number | null; changes: Partial<StoredEvent> },
): StoredEvent {
  const after: StoredEvent = {
    ...before,
    ...changes,
    changeKey: changeKey(nextNumber(mailbox)),
    modifiedAt: mailbox.now(),
  }
  calendar.events.set(after.number, after)
  announce(mailbox, calendar, { before, after, day })
  return after
}

function announce(
  mailbox: Mailbox,
  calendar: Calendar,
  change: { before: StoredEvent | null; after: StoredEvent | null; day: number | null },
): void {
  const numbered = { number: nextChange(mailbox), ...change }
  recordChange(calendar.log, numbered)
  for (const listener of mailbox.calendars.listeners) listener(calendar, numbered)
}
