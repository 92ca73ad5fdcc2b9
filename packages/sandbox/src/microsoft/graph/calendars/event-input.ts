import { DAY_MS, type Moment, momentLike, wallOf } from '../../../calendaring/moments.ts'
import {
  type Attendee,
  ATTENDEE_TYPES,
  type EventFields,
  IMPORTANCES,
  MEETING_PROVIDERS,
  SENSITIVITIES,
  SHOW_AS,
} from '../../mailbox/event.ts'
import type { Recurrence } from '../../mailbox/recurrence.ts'
import { badRequest, type GraphRefusal } from '../errors.ts'
import {
  bodyIn,
  boolean,
  extendedIn,
  objectIn,
  objects,
  recipient,
  text,
  texts,
  unknownProperty,
  word,
  wrongValue,
} from '../message-input.ts'
import { momentOf, readTime } from './event-times.ts'
import { movedToFirst, readRecurrence } from './recurrence-input.ts'

/** An event as a client writes it. */
export interface EventInput {
  readonly fields: Partial<EventFields>
  /** Undefined: not written. Null: the event recurs no longer. */
  readonly recurrence: Recurrence | null | undefined
  readonly transactionId: string | null
  /** Undefined: not written. */
  readonly isOnlineMeeting: boolean | undefined
}

/** Attendees of an event at most (learn.microsoft.com/graph/api/resources/event). */
const ATTENDEES_MAX = 500

type Read = (value: unknown, name: string) => unknown

/** Fields that are read alone, by their names in Graph. */
const FIELDS: Readonly<Record<string, Read>> = {
  subject: text,
  body: bodyIn,
  showAs: (value, name) => word(value, name, SHOW_AS),
  sensitivity: (value, name) => word(value, name, SENSITIVITIES),
  importance: (value, name) => word(value, name, IMPORTANCES),
  onlineMeetingProvider: (value, name) => word(value ?? 'unknown', name, MEETING_PROVIDERS),
  categories: texts,
  isReminderOn: boolean,
  reminderMinutesBeforeStart: minutes,
  responseRequested: boolean,
  allowNewTimeProposals: boolean,
  hideAttendees: boolean,
  attendees: attendeesIn,
}

/** Fields that several others depend on, or that are stored under other names. */
const OTHERS = new Set(
  'start end isAllDay recurrence location locations transactionId isOnlineMeeting singleValueExtendedProperties'.split(
    ' ',
  ),
)

/** Properties that clients send back as they read them, and that Graph ignores. */
const PASSED_OVER = new Set(
  'id createdDateTime lastModifiedDateTime changeKey originalStartTimeZone originalEndTimeZone iCalUId uid bodyPreview hasAttachments isCancelled isOrganizer isDraft organizer responseStatus seriesMasterId type webLink onlineMeetingUrl onlineMeeting originalStart occurrenceId cancelledOccurrences exceptionOccurrences attachments calendar extensions instances multiValueExtendedProperties'.split(
    ' ',
  ),
)

/** The event that a client changes; null for a new one. */
export type Before = (EventFields & { readonly recurrence: Recurrence | null }) | null

/** Reads the properties of an event. A property that events do not have is refused. */
export function readEvent(json: Record<string, unknown>, before: Before): EventInput {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(json)) {
    if (name.includes('@') || PASSED_OVER.has(name) || OTHERS.has(name)) continue
    const read = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
    if (!read) throw unknownProperty(name, 'event')
    fields[name] = read(value, name)
  }
  if ('singleValueExtendedProperties' in json)
    fields['extended'] = new Map([
      ...(before?.extended ?? []),
      ...extendedIn(json['singleValueExtendedProperties']),
    ])
  if ('location' in json || 'locations' in json) fields['locations'] = locationsIn(json)
  const times = timesIn(json, before)
  const recurrence = 'recurrence' in json ? readRecurrence(json['recurrence'], times.startZone) : undefined
  const placed = recurrence ? atFirst(recurrence, times) : { times, recurrence }
  if (before === null || hasTimes(json) || recurrence) Object.assign(fields, placed.times)
  return {
    // Each value was read by the reader of its name.
    fields: fields as Partial<EventFields>,
    recurrence: placed.recurrence,
    transactionId: text(json['transactionId'], 'transactionId') || null,
    isOnlineMeeting:
      json['isOnlineMeeting'] === undefined ? undefined : boolean(json['isOnlineMeeting'], 'isOnlineMeeting'),
  }
}

export const hasTimes = (json: Record<string, unknown>): boolean =>
  ['start', 'end', 'isAllDay'].some(name => name in json)

interface Times extends Pick<EventFields, 'start' | 'end' | 'startZone' | 'endZone'> {}

function atFirst(recurrence: Recurrence, times: Times): { times: Times; recurrence: Recurrence } {
  const moved = movedToFirst(recurrence, times)
  return {
    times: {
      ...times,
      start: momentLike(times.start, moved.start),
      end: momentLike(times.end, moved.end),
    },
    recurrence: moved.recurrence,
  }
}

function timesIn(json: Record<string, unknown>, before: Before): Times {
  const wasAllDay = before !== null && 'day' in before.start
  const isAllDay = json['isAllDay'] === undefined ? wasAllDay : boolean(json['isAllDay'], 'isAllDay')
  if (before !== null && !hasTimes(json)) {
    const { start, end, startZone, endZone } = before
    return { start, end, startZone, endZone }
  }
  const start = timeOf(json['start'], 'start', before && { moment: before.start, name: before.startZone })
  const end = timeOf(json['end'], 'end', before && { moment: before.end, name: before.endZone })
  if (isAllDay) requireMidnights(start, end)
  const times = {
    start: momentOf(start, isAllDay),
    end: momentOf(end, isAllDay),
    startZone: start.name,
    endZone: end.name,
  }
  if (isReversed(times)) throw invalid('The end of the event is before its start.')
  return times
}

function timeOf(value: unknown, name: string, before: { moment: Moment; name: string } | null) {
  if (value !== undefined && value !== null) return readTime(value, name)
  if (before === null) throw invalid(`The event has no ${name}.`)
  const { moment } = before
  return { wall: wallOf(moment), zone: 'zone' in moment ? moment.zone : 'UTC', name: before.name }
}

/** Whole days begin and end at midnight, in one zone, and are one at least. */
function requireMidnights(...[start, end]: ReturnType<typeof timeOf>[]): void {
  if (!start || !end) return
  for (const [name, { wall }] of Object.entries({ Start: start, End: end }))
    if (wall % DAY_MS !== 0)
      throw invalid(`The Event.${name} property for AllDay event's needs to be set to midnight.`)
  if (start.zone !== end.zone)
    throw invalid("The Event.Start and Event.End properties for AllDay event's need the same time zone.")
  if (end.wall - start.wall < DAY_MS)
    throw invalid('The duration of an event marked as All day must be at least 24 hours.')
}

const isReversed = ({ start, end }: Times): boolean =>
  'at' in start && 'at' in end ? end.at < start.at : wallOf(end) < wallOf(start)

const invalid = (message: string): GraphRefusal => badRequest(message, 'ErrorPropertyValidationFailure')

function minutes(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw wrongValue(name)
  return value
}

function attendeesIn(value: unknown, name: string): Attendee[] {
  // Only an attendee's own answer sets a response.
  const status = { response: 'none', at: null } as const
  const given = objects(value ?? [], name).map(item => ({
    ...recipient(item, name),
    type: word(item['type'] ?? 'required', name, ATTENDEE_TYPES),
    status,
  }))
  if (given.length > ATTENDEES_MAX)
    throw badRequest(
      `The event has ${given.length} attendees, that exceeds the max allowed value of ${ATTENDEES_MAX}.`,
      'ErrorInvalidRecipients',
    )
  return [...new Map(given.map(one => [one.address.toLowerCase(), one])).values()]
}

const PLACE = new Set(
  'displayName locationEmailAddress locationUri locationType uniqueId uniqueIdType address coordinates'.split(
    ' ',
  ),
)

/** The places of an event. `location` stands for the first one. */
function locationsIn(json: Record<string, unknown>): Readonly<Record<string, unknown>>[] {
  const given =
    'locations' in json
      ? objects(json['locations'] ?? [], 'locations')
      : [objectIn(json['location'] ?? {}, 'location')]
  return given
    .map(place => {
      const unknown = Object.keys(place).find(name => !name.includes('@') && !PLACE.has(name))
      if (unknown !== undefined) throw unknownProperty(unknown, 'location')
      return { ...place, displayName: text(place['displayName'], 'location') }
    })
    .filter(place => Object.values(place).some(part => part !== ''))
}
