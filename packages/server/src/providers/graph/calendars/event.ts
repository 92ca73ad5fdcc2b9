import { z } from 'zod'
import type { AttendeeResponse, EventAddress, RemoteAttendee, RemoteEvent } from '../../calendars.ts'
import { toName } from '../../contact-text.ts'
import { toBody } from '../../event-text.ts'
import { toEventAddress, uniqueAttendees } from '../../event-people.ts'
import { findMeeting, meetingAt, type OnlineMeeting, webUrl } from '../../online-meeting.ts'
import { type GraphItem, versionOf } from '../items.ts'
import { firstOf, id, text, time } from '../resources.ts'
import { findZone, timeSchema, toEventTimes } from './event-times.ts'
import { recurrenceSchema } from './recurrence.ts'

/** Values of a list that are read. */
const LISTED_MAX = 2_000
const CATEGORIES_MAX = 100

const word = text.transform(name => (name ?? '').toLowerCase())
const person = z.object({ emailAddress: z.object({ name: text, address: text }).nullish() }).nullish()
const flag = z.boolean().nullish()

/** An event (learn.microsoft.com/graph/api/resources/event), as far as it is read. */
const eventSchema = z.object({
  id,
  type: word,
  seriesMasterId: id.nullish(),
  originalStart: text,
  start: timeSchema,
  end: timeSchema.nullish(),
  isAllDay: flag,
  originalStartTimeZone: text,
  originalEndTimeZone: text,
  recurrence: recurrenceSchema.nullish(),
  subject: text,
  body: z.object({ contentType: word, content: text }).nullish(),
  location: z.object({ displayName: text, locationUri: text.catch(null) }).nullish(),
  organizer: person,
  attendees: firstOf(
    z.object({
      ...person.unwrap().unwrap().shape,
      type: word,
      status: z.object({ response: word }).nullish(),
    }),
    LISTED_MAX,
  ).nullish(),
  isOrganizer: flag,
  responseStatus: z.object({ response: word }).nullish(),
  isCancelled: flag,
  showAs: word,
  sensitivity: word,
  onlineMeeting: z.object({ joinUrl: text }).nullish(),
  onlineMeetingUrl: text,
  onlineMeetingProvider: word,
  iCalUId: text,
  categories: firstOf(z.string(), CATEGORIES_MAX).nullish(),
  hasAttachments: flag,
  isReminderOn: flag,
  reminderMinutesBeforeStart: z.int().nullish(),
  webLink: text,
  lastModifiedDateTime: time,
})
export type GraphEvent = z.infer<typeof eventSchema>

/** The fields that are selected, which are all that the index shows and the one that names a version. */
const FIELD_NAMES = [...Object.keys(eventSchema.shape), 'changeKey']
export const EVENT_FIELDS = FIELD_NAMES.join(',')

/** Fields that only some events have. */
const NOT_ALWAYS = new Set([
  'originalStart',
  'seriesMasterId',
  'recurrence',
  'onlineMeeting',
  'onlineMeetingUrl',
])

/** Whether an item has every field. A delta reports occurrences, and may report changes, by a few of them. */
export const isWhole = (item: GraphItem): boolean =>
  FIELD_NAMES.every(name => NOT_ALWAYS.has(name) || item[name] !== undefined || isVersion(item, name))

const isVersion = (item: GraphItem, name: string): boolean => name === 'changeKey' && versionOf(item) !== null

/** Reads an item that has every field; otherwise the name of the field that cannot be read. */
export function readGraphEvent(item: GraphItem): GraphEvent | string {
  const { data, error } = eventSchema.safeParse(item)
  return data ?? error.issues[0]?.path.join('.') ?? 'id'
}

/** The surroundings in which an event is read. */
export interface EventSurroundings {
  /** Whether the calendar is the account's, so that the event names its part in it. */
  isOwn: boolean
  /** The zone of the mailbox, for events whose own zone has no known name; null if it is not known. */
  mailboxZone: string | null
}

/** The zone that an event names; null for a custom one. That of a series may be named by its recurrence. */
export const namedZoneOf = ({ originalStartTimeZone, recurrence }: GraphEvent): string | null =>
  findZone(originalStartTimeZone, recurrence?.range.recurrenceTimeZone)

/** The zone of an event. Events of custom zones are taken in that of the mailbox: only their instants are certain. */
export const zoneOfEvent = (
  event: GraphEvent,
  { mailboxZone }: Pick<EventSurroundings, 'mailboxZone'>,
): string => namedZoneOf(event) ?? mailboxZone ?? 'UTC'

/** The shown fields of an event; null without a start that can be read. */
export function fieldsOf(event: GraphEvent, around: EventSurroundings): RemoteEvent | null {
  const zone = zoneOfEvent(event, around)
  const endZone = findZone(event.originalEndTimeZone) ?? zone
  const times = toEventTimes(event, { isAllDay: event.isAllDay === true, zone, endZone })
  if (!times) return null
  const [location, body] = [toName(event.location?.displayName ?? ''), bodyOf(event)]
  const { lastModifiedDateTime: updatedAt, isReminderOn, reminderMinutesBeforeStart: minutes } = event
  return {
    ...times,
    subject: toName(event.subject ?? ''),
    location,
    body,
    organizer: addressOf(event.organizer),
    attendees: attendeesOf(event),
    self: around.isOwn ? selfOf(event) : null,
    status: event.isCancelled ? 'cancelled' : 'confirmed',
    showAs: SHOW_AS.get(event.showAs) ?? 'unknown',
    sensitivity: SENSITIVITIES.get(event.sensitivity) ?? 'normal',
    ...meetingOf(event, [location, body?.content ?? null]),
    iCalUid: toName(event.iCalUId ?? ''),
    categories: [...new Set((event.categories ?? []).flatMap(name => toName(name) ?? []))],
    hasAttachments: event.hasAttachments === true,
    reminderMinutes: isReminderOn && typeof minutes === 'number' && minutes >= 0 ? minutes : null,
    webLink: webUrl(event.webLink ?? '')?.href ?? null,
    updatedAt: updatedAt === null || updatedAt === undefined ? null : new Date(updatedAt),
  }
}

const SHOW_AS: ReadonlyMap<string, RemoteEvent['showAs']> = new Map([
  ['free', 'free'],
  ['tentative', 'tentative'],
  ['busy', 'busy'],
  ['oof', 'oof'],
  ['workingelsewhere', 'working_elsewhere'],
])
const SENSITIVITIES: ReadonlyMap<string, RemoteEvent['sensitivity']> = new Map([
  ['personal', 'personal'],
  ['private', 'private'],
  ['confidential', 'confidential'],
])
const RESPONSES: ReadonlyMap<string, AttendeeResponse> = new Map([
  ['accepted', 'accepted'],
  ['tentativelyaccepted', 'tentative'],
  ['declined', 'declined'],
  ['notresponded', 'needs_action'],
])
const TYPES: ReadonlyMap<string, RemoteAttendee['type']> = new Map([
  ['optional', 'optional'],
  ['resource', 'resource'],
])

function bodyOf({ body }: GraphEvent): RemoteEvent['body'] {
  const content = toBody(body?.content ?? '')
  return content === null ? null : { contentType: body?.contentType === 'text' ? 'text' : 'html', content }
}

const addressOf = (given: GraphEvent['organizer']): EventAddress | null =>
  toEventAddress(given?.emailAddress?.address ?? '', given?.emailAddress?.name ?? '')

/** Graph says `none` of an attendee of whom the organizer knows no response. */
function attendeesOf({ attendees }: GraphEvent): RemoteAttendee[] {
  return uniqueAttendees(
    (attendees ?? []).map(each => {
      const address = addressOf(each)
      const response = RESPONSES.get(each.status?.response ?? '') ?? 'needs_action'
      return address && { ...address, type: TYPES.get(each.type) ?? 'required', response }
    }),
  )
}

function selfOf({ isOrganizer, responseStatus }: GraphEvent): RemoteEvent['self'] {
  if (isOrganizer === true) return { isOrganizer: true, response: 'organizer' }
  return { isOrganizer: false, response: RESPONSES.get(responseStatus?.response ?? '') ?? 'none' }
}

const PROVIDERS: ReadonlyMap<string, NonNullable<RemoteEvent['onlineMeetingProvider']>> = new Map([
  ['teamsforbusiness', 'teams'],
  ['skypeforbusiness', 'skype'],
  ['skypeforconsumer', 'skype'],
])

/** Outlook gives a place that it has found the link to a map. */
const MAP = /(?:^|\.)(?:bing|bingapis|google|apple|openstreetmap)\.\w+$/

/** The meeting that Graph names, else that of a link in these texts. */
function meetingOf(event: GraphEvent, texts: ReadonlyArray<string | null>): OnlineMeeting {
  const { onlineMeeting, onlineMeetingUrl, location } = event
  const link = location?.locationUri ?? ''
  const named = meetingAt([
    onlineMeeting?.joinUrl ?? '',
    onlineMeetingUrl ?? '',
    MAP.test(webUrl(link)?.hostname ?? '') ? '' : link,
  ])
  if (!named) return findMeeting(texts)
  const provider = PROVIDERS.get(event.onlineMeetingProvider)
  return provider ? { ...named, onlineMeetingProvider: provider } : named
}
