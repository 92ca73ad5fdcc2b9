import {
  type Envelope,
  invitationMail,
  type Method,
  type PartStat,
} from '../../../calendaring/invitation-mail.ts'
import type {
  Attendee,
  Calendar,
  EventException,
  EventFields,
  ResponseStatus,
  StoredEvent,
} from '../../mailbox/event.ts'
import { addEvent, changeEvent, changeOccurrence, fieldsOf } from '../../mailbox/events.ts'
import type { Mailbox } from '../../mailbox/mailbox.ts'
import { type CalendarEvent, wholeEvent } from '../../mailbox/occurrences.ts'
import { recurrenceRule } from '../../mailbox/recurrence-rule.ts'
import { textOfHtml } from '../body-text.ts'
import type { GraphParts } from '../parts.ts'
import { iCalUIdOf } from './event-shape.ts'

/** Fields that each copy of a meeting has of its own. */
const PERSONAL = [
  'showAs',
  'sensitivity',
  'categories',
  'isReminderOn',
  'reminderMinutesBeforeStart',
  'response',
  'extended',
] as const

const PENDING: Pick<EventFields, 'response' | 'showAs' | 'categories' | 'extended'> = {
  response: { response: 'notResponded', at: null },
  showAs: 'tentative',
  categories: [],
  extended: new Map(),
}

/** The event of a UID in a mailbox, with its calendar; null if there is none. */
export function findByUid(mailbox: Mailbox, uid: string): { calendar: Calendar; event: StoredEvent } | null {
  for (const calendar of mailbox.calendars.own.values())
    for (const event of calendar.events.values()) if (event.uid === uid) return { calendar, event }
  return null
}

/** The mailbox of a user of Microsoft; null for any other address. */
export function mailboxAt({ post, mailboxOf }: GraphParts, address: string): Mailbox | null {
  const user = post.findUser(address)
  return user?.provider === 'microsoft' ? mailboxOf(user) : null
}

const addressesOf = (event: EventFields | null, own: string): string[] =>
  (event?.attendees ?? []).map(({ address }) => address.toLowerCase()).filter(address => address !== own)

/**
 * Puts the organizer's meeting into the calendars of its attendees, takes it from those who are none any more, and mails
 * both (RFC 6047).
 */
export function shareMeeting(
  graph: GraphParts,
  mailbox: Mailbox,
  event: StoredEvent,
  before: StoredEvent | null,
): void {
  const invited = addressesOf(event, mailbox.email)
  if (before && sharedText(before) === sharedText(event)) return
  for (const address of invited) {
    const home = mailboxAt(graph, address)
    if (home) placeCopy(home, event)
    mail(graph, mailbox, wholeEvent(event), { to: address, method: 'REQUEST', words: event.subject })
  }
  const former = addressesOf(before, mailbox.email).filter(address => !invited.includes(address))
  for (const address of former)
    withdraw(graph, mailbox, wholeEvent(before ?? event), { address, comment: '' })
}

/** Cancels a meeting, or one occurrence, in the calendars of its attendees. */
export function cancelMeeting(
  graph: GraphParts,
  mailbox: Mailbox,
  event: CalendarEvent,
  comment: string,
): void {
  for (const address of addressesOf(event, mailbox.email))
    withdraw(graph, mailbox, event, { address, comment })
}

function withdraw(
  graph: GraphParts,
  mailbox: Mailbox,
  event: CalendarEvent,
  { address, comment }: { address: string; comment: string },
): void {
  const home = mailboxAt(graph, address)
  const copy = home && findByUid(home, event.of.uid)
  const fields = { isCancelled: true, subject: `Canceled: ${event.subject}`, showAs: 'free' } as const
  if (home && copy && event.day === null) changeEvent(home, copy.calendar, copy.event, fields)
  if (home && copy && event.day !== null)
    changeOccurrence(home, copy.calendar, copy.event, { day: event.day, fields })
  mail(graph, mailbox, event, { to: address, method: 'CANCEL', words: `Canceled: ${event.subject}`, comment })
}

/** The fields that all copies of a meeting have in common, as a text for comparisons. */
function sharedText(event: StoredEvent): string {
  const { recurrence, deleted, exceptions } = event
  const own = [...exceptions].map(([day, { fields }]) => [day, sharedFields(fields)])
  return JSON.stringify([sharedFields(fieldsOf(event)), recurrence, [...deleted], own])
}

const sharedFields = <Fields extends Partial<EventFields>>(fields: Fields): object =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !PERSONAL.some(own => own === name)))

function personalFields(event: Partial<EventFields>): Partial<EventFields> {
  return Object.fromEntries(PERSONAL.flatMap(name => (name in event ? [[name, event[name]]] : [])))
}

/** Attendees see a meeting as tentative until they respond, and again once it takes place at another time. */
function placeCopy(home: Mailbox, event: StoredEvent): void {
  const known = findByUid(home, event.uid)
  const { recurrence, deleted } = event
  const exceptions = new Map(
    [...event.exceptions].map(([day, exception]): [number, EventException] => {
      const own = personalFields(known?.event.exceptions.get(day)?.fields ?? {})
      return [day, { ...exception, fields: { ...sharedFields(exception.fields), ...own } }]
    }),
  )
  if (!known) {
    const fields = { ...fieldsOf(event), ...PENDING }
    const { uid, organizer } = event
    addEvent(home, home.calendars.main, {
      fields,
      recurrence,
      uid,
      organizer,
      isOrganizer: false,
      exceptions,
      deleted,
    })
    return
  }
  const isMoved = timesOf(known.event) !== timesOf(event)
  const own = {
    ...personalFields(known.event),
    ...(isMoved && { response: PENDING.response, showAs: PENDING.showAs }),
  }
  changeEvent(home, known.calendar, known.event, {
    ...fieldsOf(event),
    ...own,
    recurrence,
    deleted,
    exceptions,
  })
}

const timesOf = ({ start, end, recurrence }: StoredEvent): string => JSON.stringify([start, end, recurrence])

/** Notes the response of an attendee in the organizer's meeting, or in one occurrence of it. */
export function noteResponse(
  home: Mailbox,
  uid: string,
  { address, status, day }: { address: string; status: ResponseStatus; day: number | null },
): void {
  const found = findByUid(home, uid)
  if (!found?.event.isOrganizer) return
  const { calendar, event } = found
  const answered = (attendees: readonly Attendee[]) =>
    attendees.map(one => (one.address.toLowerCase() === address ? { ...one, status } : one))
  if (day === null) {
    changeEvent(home, calendar, event, { attendees: answered(event.attendees) })
    return
  }
  const attendees = answered(event.exceptions.get(day)?.fields.attendees ?? event.attendees)
  changeOccurrence(home, calendar, event, { day, fields: { attendees } })
}

const PART_STATS: Readonly<Record<ResponseStatus['response'], PartStat>> = {
  none: 'NEEDS-ACTION',
  organizer: 'ACCEPTED',
  tentativelyAccepted: 'TENTATIVE',
  accepted: 'ACCEPTED',
  declined: 'DECLINED',
  notResponded: 'NEEDS-ACTION',
}

/** Mails about an event, as far as the recipient is a user of the sandbox. */
export function mail(
  { post, writing, clock }: GraphParts,
  mailbox: Mailbox,
  event: CalendarEvent,
  {
    to,
    method,
    words,
    comment = '',
    attendees = event.attendees,
  }: { to: string; method: Method; words: string; comment?: string; attendees?: readonly Attendee[] },
): void {
  const user = post.findUser(to)
  if (!user) return
  const { of, body, type } = event
  const envelope: Envelope = {
    method,
    from: mailbox.email,
    to: user.email,
    subject: words,
    messageId: `${writing.unique()}@prod.outlook.com`,
    productId: 'Microsoft Exchange Server 2010',
    at: clock.now(),
  }
  const text = body.contentType === 'html' ? textOfHtml(body.content) : body.content
  const message = invitationMail(
    {
      uid: iCalUIdOf({ of, originalStart: null }),
      start: event.start,
      end: event.end,
      originalStart: event.originalStart,
      recurrence: type === 'seriesMaster' && of.recurrence ? [recurrenceRule(of.recurrence, of.start)] : [],
      organizer: of.organizer.address,
      attendees: attendees.map(({ address, status }) => ({
        email: address,
        partStat: PART_STATS[status.response],
      })),
      summary: event.subject,
      location: String(event.locations[0]?.['displayName'] ?? ''),
      description: comment || text,
      sequence: 0,
      status: method === 'CANCEL' ? 'CANCELLED' : 'CONFIRMED',
    },
    envelope,
  )
  post.deliver(user, { message: Buffer.from(message), from: mailbox.email })
}
