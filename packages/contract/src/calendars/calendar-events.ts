import { z } from 'zod'
import { operation } from '../operation.ts'
import {
  accountPath,
  address,
  cursor,
  pageLimit,
  pageOf,
  pathId,
  timestamp,
  timestampInput,
  uuid,
  uuidInput,
} from '../shapes.ts'

const eventTime = z
  .object({
    dateTime: timestamp.nullable().describe('Null for an event of whole days.'),
    date: z.iso.date().nullable().describe('The day of an event of whole days, otherwise null.'),
    timeZone: z
      .string()
      .nullable()
      .describe('The IANA name of the zone in which the event was made; null if it has none.'),
  })
  .meta({ id: 'EventTime' })

const attendee = address.extend({
  type: z.enum(['required', 'optional', 'resource']),
  response: z.enum(['none', 'accepted', 'tentative', 'declined', 'needs_action']),
})

/** An entry of a calendar, without its body. */
export const calendarEvent = z
  .object({
    id: uuid,
    calendarId: uuid,
    kind: z.enum(['single', 'series', 'occurrence', 'exception']),
    seriesId: uuid.nullable().describe('The series of an occurrence or exception.'),
    originalStart: timestamp.nullable().describe('When the series would have an exception begin.'),
    subject: z.string().nullable(),
    snippet: z.string(),
    location: z.string().nullable(),
    start: eventTime,
    end: eventTime.describe('The first moment after the event.'),
    isAllDay: z.boolean(),
    organizer: address.nullable(),
    attendees: z.array(attendee.meta({ id: 'Attendee' })),
    isOrganizer: z.boolean(),
    selfResponse: z.enum(['none', 'organizer', 'accepted', 'tentative', 'declined', 'needs_action']),
    status: z.enum(['confirmed', 'tentative', 'cancelled']),
    showAs: z.enum(['free', 'busy', 'tentative', 'oof', 'working_elsewhere', 'unknown']),
    sensitivity: z.enum(['normal', 'personal', 'private', 'confidential']),
    onlineMeetingUrl: z.string().nullable(),
    onlineMeetingProvider: z.enum(['google_meet', 'teams', 'skype', 'zoom', 'webex', 'other']).nullable(),
    iCalUid: z.string().nullable(),
    recurrence: z.array(z.string()).nullable().describe('Content lines of a series (RFC 5545).'),
    recurrenceTimeZone: z.string().nullable(),
    cancelledStarts: z.array(timestamp).nullable().describe('Of a series.'),
    categories: z.array(z.string()),
    hasAttachments: z.boolean(),
    reminderMinutes: z.int().nullable(),
    webLink: z.string().nullable(),
    updatedAt: timestamp,
  })
  .meta({ id: 'CalendarEvent' })
export type CalendarEvent = z.infer<typeof calendarEvent>

export const calendarEventWithBody = calendarEvent
  .extend({
    body: z.object({ contentType: z.enum(['text', 'html']), content: z.string() }).nullable(),
  })
  .meta({ id: 'CalendarEventWithBody' })
export type CalendarEventWithBody = z.infer<typeof calendarEventWithBody>

/** The values of `changes` in `calendar_event.updated`. */
export const calendarEventChange = calendarEvent.omit({ id: true }).keyof()
export type CalendarEventChange = z.infer<typeof calendarEventChange>

/** What the events `calendar_event.*` announce: singles, series and exceptions. */
export const announcedCalendarEvents = {
  'calendar_event.created': z.object({ event: calendarEvent }),
  'calendar_event.updated': z.object({ event: calendarEvent, changes: z.array(calendarEventChange) }),
  'calendar_event.deleted': z.object({ event: calendarEvent.describe('As last indexed.') }),
}

const eventPath = accountPath.extend({ eventId: pathId.describe('The event’s `id`.') })
const READING_REASONS = ['account_not_found', 'calendar_disabled'] as const

export const calendarEvents = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/calendar-events',
    scope: 'read',
    module: 'calendar',
    accountToken: true,
    summary: 'List what takes place in a range of time.',
    description:
      'Singles, occurrences of series, and exceptions that overlap the range, in the order of their starts; a series ' +
      'itself is not listed. Read from the index, which holds the past 90 and the next 365 days unless the operator ' +
      'has set another window; what of the range lies outside of it has no events. An event without length is in the ' +
      'range if it starts in it.',
    refuses: [...READING_REASONS, 'invalid_range', 'unknown_calendar', 'invalid_cursor'],
    params: accountPath,
    query: z.strictObject({
      start: timestampInput.describe('The beginning of the range.'),
      end: timestampInput.describe('The end of the range, which does not belong to it.'),
      calendarId: uuidInput
        .optional()
        .describe('Only events of this calendar. Default: of all, hidden ones too.'),
      limit: pageLimit(500, 100),
      cursor: cursor.optional(),
    }),
    output: pageOf(calendarEvent),
  }),

  get: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/calendar-events/{eventId}',
    scope: 'read',
    module: 'calendar',
    accountToken: true,
    summary: 'Get a calendar event with its body.',
    description: 'A single, a series, an occurrence of it, or an exception.',
    refuses: [...READING_REASONS, 'calendar_event_not_found'],
    params: eventPath,
    output: calendarEventWithBody,
  }),
}
