import { isDay } from '../../kit/wall-clock.ts'
import { decodeEntities } from '../../kit/mime/entities.ts'
import type {
  AttendeeResponse,
  EventAddress,
  RemoteAttendee,
  RemoteCalendar,
  RemoteEvent,
} from '../calendars.ts'
import { toName } from '../contact-text.ts'
import { toEventAddress, uniqueAttendees } from '../event-people.ts'
import { toBody } from '../event-text.ts'
import { findMeeting, meetingAt, NO_MEETING, type OnlineMeeting, webUrl } from '../online-meeting.ts'
import { MEET } from './calendar-entry.ts'
import {
  attendeeSchema,
  type GoogleEvent,
  MEETING_PROPERTY,
  personSchema,
  reminderSchema,
} from './event-schema.ts'
import { readEventTimes } from './event-times.ts'
import { z } from 'zod'

/** The calendar in which an event lies, as far as its fields depend on it. */
export interface EventSurroundings {
  access: RemoteCalendar['access']
  /** The zone in which the answer shows times; null if it is not known. */
  timeZone: string | null
  /** Reminders of events that have none of their own. */
  defaultReminders: readonly unknown[]
}

const STATUSES: ReadonlyMap<string, RemoteEvent['status']> = new Map([
  ['tentative', 'tentative'],
  ['cancelled', 'cancelled'],
])
const SENSITIVITIES: ReadonlyMap<string, RemoteEvent['sensitivity']> = new Map([
  ['private', 'private'],
  ['confidential', 'confidential'],
])
const RESPONSES: ReadonlyMap<string, AttendeeResponse> = new Map([
  ['accepted', 'accepted'],
  ['tentative', 'tentative'],
  ['declined', 'declined'],
])

/** The shown fields of an event; null without a start that can be read. */
export function fieldsOf(event: GoogleEvent, around: EventSurroundings): RemoteEvent | null {
  const times = readEventTimes(event, around.timeZone)
  if (!times) return null
  const [location, body] = [toName(event.location ?? ''), bodyOf(event.description ?? '')]
  const updatedAt = new Date(event.updated ?? '')
  return {
    ...times,
    subject: toName(event.summary ?? ''),
    location,
    body,
    organizer: personOf(event.organizer),
    attendees: attendeesOf(event),
    self: selfOf(event, around),
    status: STATUSES.get(event.status ?? '') ?? 'confirmed',
    showAs: showAsOf(event),
    sensitivity: SENSITIVITIES.get(event.visibility ?? '') ?? 'normal',
    ...meetingOf(event, [location, body?.content ?? null]),
    iCalUid: toName(event.iCalUID ?? ''),
    // Google has colours of events, and no categories.
    categories: [],
    hasAttachments: event.attachments.length > 0,
    reminderMinutes: reminderOf(event, isDay(times.start.wall) ? [] : around.defaultReminders),
    webLink: webUrl(event.htmlLink ?? '')?.href ?? null,
    updatedAt: Number.isNaN(updatedAt.getTime()) ? null : updatedAt,
  }
}

/** A description is HTML if it has a tag. Text has character references nevertheless. */
export function bodyOf(description: string): RemoteEvent['body'] {
  const isHtml = /<\/?[a-z][^<>]*>/i.test(description)
  const content = toBody(isHtml ? description : decodeEntities(description))
  return content === null ? null : { contentType: isHtml ? 'html' : 'text', content }
}

const personOf = (person: z.infer<typeof personSchema> | null | undefined): EventAddress | null =>
  toEventAddress(person?.email ?? '', person?.displayName ?? '')

const responseOf = (status: string | null | undefined): AttendeeResponse =>
  RESPONSES.get(status ?? '') ?? 'needs_action'

function attendeesOf({ attendees }: GoogleEvent): RemoteAttendee[] {
  return uniqueAttendees(
    attendees.map(each => {
      const { data } = attendeeSchema.safeParse(each)
      const person = personOf(data)
      if (!data || !person) return null
      const type = data.resource ? 'resource' : data.optional ? 'optional' : 'required'
      return { ...person, type, response: responseOf(data.responseStatus) }
    }),
  )
}

/**
 * Google names as `self` the calendar in which the event lies. That is the account where it may write; in a calendar that
 * it only reads, addresses are compared.
 */
function selfOf({ organizer, attendees }: GoogleEvent, { access }: EventSurroundings): RemoteEvent['self'] {
  if (access !== 'owner' && access !== 'writer') return null
  if (!organizer) return { isOrganizer: true, response: 'none' }
  if (organizer.self) return { isOrganizer: true, response: 'organizer' }
  const own = attendees.map(each => attendeeSchema.safeParse(each).data).find(each => each?.self)
  return { isOrganizer: false, response: own ? responseOf(own.responseStatus) : 'none' }
}

/** A place of work in the office leaves the time free, and so does whatever Google calls transparent. */
function showAsOf({
  eventType,
  transparency,
  workingLocationProperties,
}: GoogleEvent): RemoteEvent['showAs'] {
  if (eventType === 'outOfOffice') return 'oof'
  if (eventType === 'workingLocation')
    return workingLocationProperties?.type === 'officeLocation' ? 'free' : 'working_elsewhere'
  return transparency === 'transparent' ? 'free' : 'busy'
}

const entryPointSchema = z.object({ entryPointType: z.string(), uri: z.string() })

/**
 * The link that the service has remembered, else that of a conference, else a link in the texts. A conference that is still
 * being made has no link yet. Once it has, the event is changed.
 */
function meetingOf(
  { conferenceData, hangoutLink, extendedProperties }: GoogleEvent,
  texts: ReadonlyArray<string | null>,
): OnlineMeeting {
  const points = (conferenceData?.entryPoints ?? []).flatMap(
    point => entryPointSchema.safeParse(point).data ?? [],
  )
  const uris = (type: string) => points.filter(point => point.entryPointType === type).map(({ uri }) => uri)
  const remembered = z.string().safeParse(extendedProperties?.private[MEETING_PROPERTY]).data ?? ''
  const found =
    meetingAt([remembered, ...uris('video'), hangoutLink ?? '', ...uris('more')]) ?? findMeeting(texts)
  if (found !== NO_MEETING) return found
  const { status, conferenceSolutionKey } = conferenceData?.createRequest ?? {}
  const isMade = status?.statusCode === 'pending' && conferenceSolutionKey?.type === MEET
  return isMade ? { onlineMeetingUrl: null, onlineMeetingProvider: 'google_meet' } : NO_MEETING
}

/**
 * Minutes from the last popup to the start, else from the last mail. Google has other reminders for whole days, which the API
 * does not name.
 * @param defaults reminders of the calendar
 */
function reminderOf({ reminders }: GoogleEvent, defaults: readonly unknown[]): number | null {
  const all = (reminders?.useDefault ? defaults : (reminders?.overrides ?? [])).flatMap(
    each => reminderSchema.safeParse(each).data ?? [],
  )
  const popups = all.filter(({ method }) => method === 'popup')
  const minutes = (popups.length > 0 ? popups : all).map(each => each.minutes)
  return minutes.length > 0 ? Math.min(...minutes) : null
}
