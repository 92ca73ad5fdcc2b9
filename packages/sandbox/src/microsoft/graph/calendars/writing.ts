import { DAY_MS, wallOf } from '../../../calendaring/moments.ts'
import {
  addEvent,
  changeEvent,
  changeOccurrence,
  deleteOccurrence,
  removeEvent,
} from '../../mailbox/events.ts'
import { EVENT_DEFAULTS, type EventFields, type StoredEvent } from '../../mailbox/event.ts'
import { type CalendarEvent, occurrenceOn, wholeEvent } from '../../mailbox/occurrences.ts'
import { dateOf, occurrenceDays } from '../../mailbox/recurrence.ts'
import { badRequest, GraphRefusal } from '../errors.ts'
import { etagOf } from '../message-shape.ts'
import {
  changingBy,
  created,
  type GraphAnswer,
  type GraphMethod,
  type MethodCall,
  noContent,
  ok,
  WRITE_CALENDARS,
} from '../method.ts'
import { requireMatch } from '../require-match.ts'
import { type EventInput, hasTimes, readEvent } from './event-input.ts'
import { presentEvent } from './event-shape.ts'
import {
  EVENT_LIST_PATHS,
  EVENT_PATHS,
  type FoundCalendar,
  type FoundEvent,
  requireCalendar,
  requireEvent,
  requireWriter,
  viewIn,
} from './find.ts'
import { cancelMeeting, shareMeeting } from './invitations.ts'
import { meetingAfter } from './online-meeting.ts'
import { eventsContext } from './reading.ts'
import { movedToFirst } from './recurrence-input.ts'
import { responseMethods } from './responses.ts'
import { scheduleMethods } from './schedule.ts'

const write = changingBy(WRITE_CALENDARS)

/** Methods that change events, and those that answer invitations and schedules. */
export const eventWriteMethods: readonly GraphMethod[] = [
  ...EVENT_LIST_PATHS.map(path => write('POST', path, create)),
  ...EVENT_PATHS.flatMap(path => [
    write('PATCH', path, change),
    write('DELETE', path, remove),
    write('POST', `${path}/permanentDelete`, remove, 'permanentDelete'),
    write('POST', `${path}/cancel`, cancel),
  ]),
  ...responseMethods,
  ...scheduleMethods,
]

function create(call: MethodCall): GraphAnswer {
  const found = requireWriter(requireCalendar(call))
  const { mailbox, calendar } = found
  const json = call.json()
  const input = readEvent(json, null)
  const transaction = JSON.stringify(json)
  const earlier = madeBy(found, input, transaction)
  if (earlier) return made(call, found, earlier)
  const written = { ...EVENT_DEFAULTS, ...input.fields }
  const event = addEvent(mailbox, calendar, {
    // The reader refuses a new event without times.
    fields: { ...written, ...meetingAfter(call, input, written) } as EventFields,
    recurrence: input.recurrence ?? null,
    uid: (call.graph.writing.unique() + call.graph.writing.unique()).slice(0, 40),
    organizer: { name: mailbox.name, address: mailbox.email },
    isOrganizer: true,
    transactionId: input.transactionId,
    transaction,
  })
  shareMeeting(call.graph, mailbox, event, null)
  return made(call, found, event)
}

function made(call: MethodCall, found: FoundCalendar, event: StoredEvent): GraphAnswer {
  const shown = presentEvent(wholeEvent(event), viewIn(call, found))
  return created({ '@odata.context': eventsContext(call, 'events/$entity'), ...shown })
}

/** The event that the same request has made. A transaction of another request is refused. */
function madeBy(
  { mailbox }: FoundCalendar,
  { transactionId }: EventInput,
  transaction: string,
): StoredEvent | null {
  const events = [...mailbox.calendars.own.values()].flatMap(one => [...one.events.values()])
  const event = transactionId === null ? null : events.find(one => one.transactionId === transactionId)
  if (!event || event.transaction === transaction) return event ?? null
  throw new GraphRefusal(
    409,
    'ErrorDuplicateTransactionId',
    "Your request can't be completed. The client-provided transactionId was used in an earlier request.",
  )
}

function change(call: MethodCall): GraphAnswer {
  const found = requireWriter(requireEvent(call))
  const { event, mailbox } = found
  requireMatch(call, etagOf(event))
  const json = call.json()
  const before = { ...event, recurrence: event.day === null ? event.of.recurrence : null }
  const input = readEvent(json, before)
  const fields = { ...input.fields, ...meetingChange(call, input, event), ...attendeesKept(input, event) }
  const after =
    event.day === null
      ? changeWhole(found, { ...input, fields }, hasTimes(json))
      : changeDay(found, { ...input, fields }, event.day)
  if (event.of.isOrganizer) shareMeeting(call.graph, mailbox, after, event.of)
  const shown = event.day === null ? wholeEvent(after) : occurrenceOn(mailbox, after, event.day)
  return answered(call, { ...found, event: shown ?? event })
}

const answered = (call: MethodCall, found: FoundEvent): GraphAnswer => ({
  ...ok({
    '@odata.context': eventsContext(call, 'events/$entity'),
    ...presentEvent(found.event, viewIn(call, found)),
  }),
  headers: { etag: etagOf(found.event) },
})

function meetingChange(call: MethodCall, input: EventInput, event: CalendarEvent): Partial<EventFields> {
  if (input.fields.body === undefined && input.isOnlineMeeting !== true) return {}
  return meetingAfter(call, input, event)
}

/** Attendees who stay keep their responses, unless the meeting takes place at another time. */
function attendeesKept({ fields }: EventInput, event: CalendarEvent): Partial<EventFields> {
  const isMoved = fields.start !== undefined && wallOf(fields.start) !== wallOf(event.start)
  const attendees = fields.attendees ?? event.attendees
  if (attendees === event.attendees && !isMoved) return {}
  const status = { response: 'none', at: null } as const
  return {
    attendees: attendees.map(one => {
      const known = event.attendees.find(({ address }) => address.toLowerCase() === one.address.toLowerCase())
      return { ...one, status: isMoved ? status : (known?.status ?? status) }
    }),
  }
}

/** Changes a single event or a series. Another rule or other times end its exceptions. */
function changeWhole(
  { mailbox, calendar, event }: FoundEvent,
  { fields, recurrence }: EventInput,
  isMoved: boolean,
): StoredEvent {
  const { of } = event
  if (recurrence === undefined && (!isMoved || of.recurrence === null))
    return changeEvent(mailbox, calendar, of, fields)
  const kept = { exceptions: new Map(), deleted: new Set<number>() }
  if (recurrence !== undefined) return changeEvent(mailbox, calendar, of, { ...fields, recurrence, ...kept })
  const { range, pattern } = of.recurrence ?? {}
  if (!range || !pattern) return changeEvent(mailbox, calendar, of, fields)
  const [start, end] = [fields.start ?? of.start, fields.end ?? of.end]
  const startDate = dateOf(Math.floor(wallOf(start) / DAY_MS))
  const moved = movedToFirst({ pattern, range: { ...range, startDate } }, { start, end })
  return changeEvent(mailbox, calendar, of, { ...fields, recurrence: moved.recurrence, ...kept })
}

function changeDay(found: FoundEvent, { fields, recurrence }: EventInput, day: number): StoredEvent {
  const { mailbox, calendar, event } = found
  if (recurrence) throw badRequest('The recurrence of an occurrence cannot be set.', 'ErrorInvalidRequest')
  if (fields.start !== undefined) requireBetweenNeighbours(found, fields.start, day)
  return changeOccurrence(mailbox, calendar, event.of, { day, fields })
}

/** Days after an occurrence among which its neighbour is searched. */
const SEARCHED_DAYS = 366 * 20

/** An occurrence stays between the days of those before and after it. */
function requireBetweenNeighbours(
  { mailbox, event }: FoundEvent,
  start: EventFields['start'],
  day: number,
): void {
  const { of } = event
  if (of.recurrence === null) return
  const others = occurrenceDays(of.recurrence, day + SEARCHED_DAYS).filter(
    one => one !== day && !of.deleted.has(one),
  )
  const startDay = (neighbour: number | undefined): number | null => {
    const occurrence = neighbour === undefined ? null : occurrenceOn(mailbox, of, neighbour)
    return occurrence && Math.floor(wallOf(occurrence.start) / DAY_MS)
  }
  const before = startDay(others.findLast(one => one < day))
  const after = startDay(others.find(one => one > day))
  const wanted = Math.floor(wallOf(start) / DAY_MS)
  if ((before === null || wanted > before) && (after === null || wanted < after)) return
  throw badRequest(
    'Modified occurrence is crossing or overlapping adjacent occurrence.',
    'ErrorOccurrenceCrossingBoundary',
  )
}

function remove(call: MethodCall): GraphAnswer {
  const found = requireWriter(requireEvent(call))
  requireMatch(call, etagOf(found.event))
  removeFound(call, found, '')
  return noContent
}

/** Deletes a meeting for all attendees, with a comment to them. */
function cancel(call: MethodCall): GraphAnswer {
  const found = requireWriter(requireEvent(call))
  if (!found.event.of.isOrganizer)
    throw badRequest(
      "Your request can't be completed. You need to be an organizer to cancel a meeting.",
      'ErrorInvalidRequest',
    )
  const comment = call.bytes.length > 0 ? (call.json()['comment'] ?? call.json()['Comment']) : ''
  removeFound(call, found, typeof comment === 'string' ? comment : '')
  return { status: 202 }
}

function removeFound({ graph }: MethodCall, { mailbox, calendar, event }: FoundEvent, comment: string): void {
  const { of, day } = event
  if (day === null) removeEvent(mailbox, calendar, of)
  else deleteOccurrence(mailbox, calendar, of, day)
  if (of.isOrganizer) cancelMeeting(graph, mailbox, event, comment)
}
