import { type Attendee, RESPONSES, type StoredEvent } from '../store/calendars.ts'
import { expand } from '../store/expand.ts'
import { DAY_MS, instantOf, isZone, type Moment, wallOf } from '../../calendaring/moments.ts'
import { type EventTime, presentTime } from '../store/times.ts'
import { badRequest, invalid, required } from './refusals.ts'

/** The fields of an event that a client may set. */
export type WrittenEvent = Pick<
  StoredEvent,
  'start' | 'end' | 'recurrence' | 'status' | 'attendees' | 'contents'
>

type Json = Record<string, unknown>

/** Fields of the API that clients cannot set, or that are not kept among the contents. */
const NOT_CONTENTS = new Set(
  'attendees attendeesOmitted created creator end endTimeUnspecified etag hangoutLink htmlLink iCalUID id kind locked organizer originalStartTime privateCopy recurrence recurringEventId sequence start status updated'.split(
    ' ',
  ),
)

const ATTENDEES_MAX = 500
const EMAIL = /^[^\s@]+@[^\s@]+$/

/** Reads an event that is written whole. Times without a zone are in `zone`. */
export function readEvent(body: Json, zone: string): WrittenEvent {
  const start = readMoment(body['start'], 'start', zone)
  const end = readMoment(body['end'], 'end', zone)
  if ('day' in start !== 'day' in end || wallOf(start) > wallOf(end) + DAY_MS || isReversed(start, end))
    throw badRequest('timeRangeEmpty', 'The specified time range is empty.')
  return {
    start,
    end,
    recurrence: readRecurrence(body, start, end),
    status: readStatus(body['status']),
    attendees: readAttendees(body['attendees'] ?? []),
    contents: Object.fromEntries(
      Object.entries(body).filter(([name, value]) => !NOT_CONTENTS.has(name) && value !== null),
    ),
  }
}

/** Reads a change of some fields (JSON merge patch, RFC 7396). Lists are replaced whole. */
export function readPatch(event: StoredEvent, body: Json, zone: string): WrittenEvent {
  const { start, end, recurrence, status, attendees, contents } = event
  const before = {
    ...contents,
    start: presentTime(start, zone),
    end: presentTime(end, zone),
    recurrence,
    status,
    attendees,
  }
  const written = readEvent(merged(before, body), zone)
  if (body['attendeesOmitted'] !== true || body['attendees'] === undefined) return written
  // Only the response of a participant is changed, and the others stay.
  const given = new Map(written.attendees.map(one => [one.email, one]))
  return { ...written, attendees: attendees.map(one => given.get(one.email) ?? one) }
}

export function merged(before: Json, patch: Json): Json {
  const result: Json = { ...before }
  for (const [name, value] of Object.entries(patch)) {
    const old = result[name]
    if (value === null) delete result[name]
    else result[name] = isObject(value) ? merged(isObject(old) ? old : {}, value) : value
  }
  return result
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isReversed = (start: Moment, end: Moment): boolean =>
  'at' in start && 'at' in end ? end.at < start.at : wallOf(end) <= wallOf(start)

function readMoment(value: unknown, name: 'start' | 'end', calendarZone: string): Moment {
  if (!isObject(value)) throw required(`Missing ${name} time.`)
  const { date, dateTime, timeZone } = value as EventTime
  if ((date === undefined) === (dateTime === undefined)) throw invalid(`Invalid ${name} time.`)
  if (timeZone !== undefined && !isZone(timeZone)) throw invalid('Invalid time zone definition.')
  if (date !== undefined) {
    if (!/^\d{4}-\d\d-\d\d$/.test(date) || Number.isNaN(Date.parse(date)))
      throw invalid(`Invalid ${name} time.`)
    return { day: date }
  }
  const [, local = '', offset] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?$/i.exec(dateTime ?? '') ?? []
  const wall = Date.parse(`${local}Z`)
  if (Number.isNaN(wall)) throw invalid(`Invalid ${name} time.`)
  if (offset === undefined && timeZone === undefined)
    throw required(`Missing time zone definition for ${name} time.`)
  const zone = timeZone ?? calendarZone
  return { at: offset === undefined ? instantOf(wall, zone) : Date.parse(`${local}${offset}`), zone }
}

function readRecurrence(body: Json, start: Moment, end: Moment): string[] {
  const given = body['recurrence'] ?? []
  if (!Array.isArray(given) || given.some(line => typeof line !== 'string'))
    throw invalid('Invalid recurrence rule.')
  const recurrence = given as string[]
  if (recurrence.length === 0) return []
  const { dateTime, timeZone } = body['start'] as EventTime
  if (dateTime !== undefined && timeZone === undefined)
    throw required('Missing time zone definition for start time.')
  try {
    expand({ start, end, recurrence }, wallOf(start), wallOf(start) + DAY_MS)
  } catch {
    // The words of the library are no part of Google's answer.
    throw invalid('Invalid recurrence rule.')
  }
  return recurrence
}

function readStatus(value: unknown): StoredEvent['status'] {
  if (value === undefined || value === null) return 'confirmed'
  if (value === 'confirmed' || value === 'tentative' || value === 'cancelled') return value
  throw invalid('Invalid value for: status')
}

function readAttendees(value: unknown): Attendee[] {
  if (!Array.isArray(value)) throw invalid('Invalid attendees.')
  if (value.length > ATTENDEES_MAX) throw badRequest('tooManyAttendees', 'Too many attendees.')
  return (value as Json[]).map(one => {
    const { email, responseStatus = 'needsAction' } = one
    if (typeof email !== 'string' || !EMAIL.test(email)) throw invalid('Invalid attendee email.')
    const response = RESPONSES.find(word => word === responseStatus)
    if (!response) throw invalid('Invalid value for: responseStatus')
    const kept = ['displayName', 'optional', 'resource', 'comment', 'additionalGuests'].flatMap(
      (name): Array<[string, unknown]> =>
        one[name] === undefined || one[name] === null ? [] : [[name, one[name]]],
    )
    return { ...Object.fromEntries(kept), email: email.toLowerCase(), responseStatus: response }
  })
}
