import { wordIn } from '../../google/api/input.ts'
import { pendingConference } from '../conference.ts'
import { reportResponse, sharedText, shareEvent } from '../invitations.ts'
import { mailChange, UPDATES } from '../mail.ts'
import { type Calendar, organizerOf, type Party, recordEvent, type StoredEvent } from '../store/calendars.ts'
import { dropExceptions } from '../store/members.ts'
import { sameMoment } from '../../calendaring/moments.ts'
import { readEvent, readPatch, type WrittenEvent } from './event-input.ts'
import { requireEvent } from './events.ts'
import { type CalendarMethod, type MethodCall, requireCalendar, scopes } from './method.ts'
import { eventEtag, presentEvent } from './present.ts'
import {
  badRequest,
  conditionNotMet,
  exists,
  invalid,
  isDeleted,
  notOrganizer,
  required,
} from './refusals.ts'
import { SHAPES } from './shapes.ts'

const WRITERS = scopes('* app.created events events.owned')
const UPDATES_QUERY = ['sendNotifications', 'sendUpdates']
const IMPORT_QUERY = ['conferenceDataVersion', 'eventLabelVersion', 'supportsAttachments']
const INSERT_QUERY = [...IMPORT_QUERY, 'maxAttendees', ...UPDATES_QUERY]
const CHANGE_QUERY = [...INSERT_QUERY, 'alwaysIncludeEmail']
const EVENT_PATH = 'calendars/{calendarId}/events/{eventId}'

const writing = (
  id: string,
  http: CalendarMethod['http'],
  path: string,
  query: readonly string[],
  run: CalendarMethod['run'],
): CalendarMethod => ({
  id,
  http,
  path,
  scopes: WRITERS,
  query,
  body: SHAPES.event,
  answer: SHAPES.event,
  run,
})

export const eventWriteMethods: readonly CalendarMethod[] = [
  writing('events.insert', 'POST', 'calendars/{calendarId}/events', INSERT_QUERY, insert),
  writing('events.import', 'POST', 'calendars/{calendarId}/events/import', IMPORT_QUERY, importEvent),
  writing('events.patch', 'PATCH', EVENT_PATH, CHANGE_QUERY, call => change(call, readPatch)),
  writing('events.update', 'PUT', EVENT_PATH, CHANGE_QUERY, call =>
    change(call, (_, body, zone) => readEvent(body, zone)),
  ),
  {
    id: 'events.delete',
    http: 'DELETE',
    path: EVENT_PATH,
    scopes: WRITERS,
    query: UPDATES_QUERY,
    run: remove,
  },
  {
    id: 'events.move',
    http: 'POST',
    path: `${EVENT_PATH}/move`,
    scopes: scopes('* events events.owned'),
    query: ['destination', ...UPDATES_QUERY],
    answer: SHAPES.event,
    run: move,
  },
]

const creatorOf = ({ list }: MethodCall): Party => ({ email: list.email, displayName: list.name })

function insert(call: MethodCall): object {
  const { calendar } = requireCalendar(call, 'writer')
  const { body, parts } = call
  const id = body['id'] ?? parts.store.random.hex(26)
  if (typeof id !== 'string' || !/^[a-v0-9]{5,1024}$/.test(id)) throw invalid('Invalid resource id value.')
  if (calendar.events.has(id)) throw exists()
  const uid = body['iCalUID']
  const written = withConference(call, readEvent(body, calendar.fields.timeZone), null)
  const event = { ...newEvent(call, calendar, written, id), ...(typeof uid === 'string' && { iCalUID: uid }) }
  return save(call, calendar, event, null)
}

function newEvent(call: MethodCall, calendar: Calendar, written: WrittenEvent, id: string) {
  return {
    ...written,
    id,
    iCalUID: `${id}@google.com`,
    exceptionTo: null,
    creator: creatorOf(call),
    organizer: organizerOf(calendar, calendar.isPrimary ? call.list.name : undefined),
    conferenceAt: dueAt(call, written),
    sequence: 0,
    createdAt: call.parts.store.now(),
  }
}

/** Puts a copy of an event that is organized elsewhere into a calendar. A newer import of the same UID replaces it. */
function importEvent(call: MethodCall): object {
  const { calendar, role } = requireCalendar(call, 'writer')
  const { body, parts } = call
  const { iCalUID, sequence, organizer } = body
  if (typeof iCalUID !== 'string' || iCalUID === '') throw required('Missing iCalUID.')
  const written = readEvent(body, calendar.fields.timeZone)
  const known = [...calendar.events.values()].find(one => one.iCalUID === iCalUID && !one.exceptionTo)
  const { email } = (organizer ?? {}) as Partial<Party>
  const event = {
    ...newEvent(call, calendar, written, known?.id ?? `_${parts.store.random.hex(26)}`),
    iCalUID,
    ...(typeof email === 'string' && { organizer: organizer as Party }),
    sequence: typeof sequence === 'number' ? sequence : 0,
  }
  const recorded = recordEvent(parts.store, calendar, event)
  return presentEvent(calendar, recorded, { role, zone: calendar.fields.timeZone })
}

type Read = (event: StoredEvent, body: Record<string, unknown>, zone: string) => WrittenEvent

function change(call: MethodCall, read: Read): object {
  const { calendar } = requireCalendar(call, 'writer')
  const before = requireCurrent(call, calendar)
  const written = withConference(call, read(before, call.body, calendar.fields.timeZone), before)
  if (before.exceptionTo && written.recurrence.length > 0) throw invalid('Invalid recurrence rule.')
  const event = { ...before, ...written, conferenceAt: dueAt(call, written) ?? before.conferenceAt }
  if (before.organizer.email === calendar.id || !call.parts.store.calendars.has(before.organizer.email))
    return save(call, calendar, event, before)
  return saveCopy(call, calendar, event, before)
}

function requireCurrent({ headers, params }: MethodCall, calendar: Calendar): StoredEvent {
  const event = requireEvent(calendar, params['eventId'] ?? '')
  const match = headers.get('if-match')
  if (match !== null && match !== '*' && match !== eventEtag(calendar, event)) throw conditionNotMet()
  return event
}

/** Keeps the conference that is there, unless the call says that it knows of conferences. */
function withConference(
  { query }: MethodCall,
  written: WrittenEvent,
  before: StoredEvent | null,
): WrittenEvent {
  const { conferenceData, ...others } = written.contents
  const old = before?.contents['conferenceData']
  const given = query.get('conferenceDataVersion') === '1' ? conferenceData : old
  const data = pendingConference(given) ?? given
  const link = data === old ? before?.contents['hangoutLink'] : undefined
  return {
    ...written,
    contents: {
      ...others,
      ...(data !== undefined && { conferenceData: data }),
      ...(link !== undefined && { hangoutLink: link }),
    },
  }
}

function dueAt({ parts }: MethodCall, { contents }: WrittenEvent): number | null {
  const { createRequest } = (contents['conferenceData'] ?? {}) as {
    createRequest?: { status?: { statusCode?: string } }
  }
  const isPending = createRequest?.status?.statusCode === 'pending'
  return isPending ? parts.store.now() + parts.settings.meetSeconds * 1_000 : null
}

/** Records what the organizer has written, and tells the attendees. */
function save(
  call: MethodCall,
  calendar: Calendar,
  event: Omit<StoredEvent, 'change' | 'updatedAt'>,
  before: StoredEvent | null,
): object {
  const { parts } = call
  const isMoved =
    before !== null &&
    (!sameMoment(before.start, event.start) ||
      !sameMoment(before.end, event.end) ||
      before.status !== event.status ||
      JSON.stringify(before.recurrence) !== JSON.stringify(event.recurrence))
  const recorded = recordEvent(parts.store, calendar, {
    ...event,
    sequence: event.sequence + (isMoved ? 1 : 0),
  })
  if (recorded.status === 'cancelled') dropExceptions(calendar, recorded.id)
  if (recorded.organizer.email === calendar.id) {
    shareEvent(parts, calendar, recorded, before)
    mailChange(parts, recorded, before, updatesIn(call))
  }
  const { role } = requireCalendar(call, 'writer')
  return presentEvent(calendar, recorded, { role, zone: calendar.fields.timeZone })
}

function updatesIn({ query }: MethodCall) {
  const old = query.get('sendNotifications') === 'true' ? 'all' : 'none'
  return wordIn(query, 'sendUpdates', UPDATES, old)
}

/** Records what an attendee has written: their response, and what each copy has of its own. */
function saveCopy(call: MethodCall, calendar: Calendar, event: StoredEvent, before: StoredEvent): object {
  const { parts } = call
  const own = event.attendees.find(({ email }) => email === calendar.id)
  const others = (one: StoredEvent) => ({
    ...one,
    attendees: one.attendees.filter(({ email }) => email !== calendar.id),
  })
  const isCancelling = event.status === 'cancelled'
  if (!isCancelling && (!own || sharedText(others(event)) !== sharedText(others(before))))
    throw notOrganizer()
  const recorded = recordEvent(parts.store, calendar, event)
  if (isCancelling) dropExceptions(calendar, event.id)
  const response = isCancelling ? declined(before, calendar) : own
  if (response) reportResponse(parts, calendar, recorded, response)
  const { role } = requireCalendar(call, 'writer')
  return presentEvent(calendar, recorded, { role, zone: calendar.fields.timeZone })
}

function declined(event: StoredEvent, calendar: Calendar) {
  const own = event.attendees.find(({ email }) => email === calendar.id)
  return own && { ...own, responseStatus: 'declined' as const }
}

function remove(call: MethodCall): undefined {
  const { calendar } = requireCalendar(call, 'writer')
  const before = requireCurrent(call, calendar)
  if (before.status === 'cancelled') throw isDeleted()
  const event = { ...before, status: 'cancelled' as const }
  if (before.organizer.email === calendar.id || !call.parts.store.calendars.has(before.organizer.email))
    save(call, calendar, event, before)
  else saveCopy(call, calendar, event, before)
}

/** Moves a single or a whole series into another calendar, which organizes it from then on. */
function move(call: MethodCall): object {
  const { parts, query } = call
  const { calendar } = requireCalendar(call, 'writer')
  const { calendar: target, role } = requireCalendar(call, 'writer', query.get('destination') ?? '')
  const before = requireCurrent(call, calendar)
  if (before.status === 'cancelled') throw isDeleted()
  if (before.exceptionTo)
    throw badRequest('cannotMoveInstance', 'Instances of recurring events cannot be moved.')
  if (before.organizer.email !== calendar.id)
    throw badRequest('cannotChangeOrganizer', 'The organizer of the event cannot be changed.')
  const isThere = target.events.get(before.id)
  if (target === calendar || (isThere && isThere.status !== 'cancelled')) throw exists()
  const exceptions = [...calendar.events.values()].filter(({ exceptionTo }) => exceptionTo?.id === before.id)
  const organizer = organizerOf(target, target.isPrimary ? call.list.name : undefined)
  const moved = [before, ...exceptions].map(event =>
    recordEvent(parts.store, target, { ...event, organizer }),
  )
  recordEvent(parts.store, calendar, { ...before, status: 'cancelled' })
  dropExceptions(calendar, before.id)
  for (const event of moved) shareEvent(parts, target, event, event)
  return presentEvent(target, moved[0] ?? before, { role, zone: target.fields.timeZone })
}
