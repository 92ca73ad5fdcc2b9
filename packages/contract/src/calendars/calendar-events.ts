import { z } from 'zod'
import { CHANGING_REASONS } from '../mail/changing-reasons.ts'
import { operation } from '../operation.ts'
import {
  accountPath,
  address,
  cursor,
  pageLimit,
  pageOf,
  pathId,
  queryBoolean,
  timestamp,
  timestampInput,
  uuid,
  uuidInput,
} from '../shapes.ts'
import { eventChange, eventResponse, newEvent, scope } from './calendar-event-input.ts'

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
    cancelledStarts: z
      .array(timestamp)
      .nullable()
      .describe('The starts of occurrences that were deleted from a series; null for anything else.'),
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
const WRITING_REASONS = [
  ...CHANGING_REASONS,
  // People may have to be told by mail.
  'billing_past_due',
  'calendar_disabled',
  'calendar_read_only',
  'plan_limit_sends',
] as const
const FIELD_REASONS = [
  'invalid_range',
  'invalid_recurrence',
  'invalid_time_zone',
  'mixed_event_times',
  'multiple_meeting_options',
  'unknown_calendar',
] as const
/** A body of a million characters, each of which may take six bytes in JSON. */
const EVENT_BYTES_MAX = 7 * 1024 * 1024

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

  create: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/calendar-events',
    scope: 'write',
    module: 'calendar',
    accountToken: true,
    audit: 'calendar_event.create',
    makes: 'eventId',
    bodyBytesMax: EVENT_BYTES_MAX,
    summary: 'Create a calendar event, or a series.',
    description:
      'Written to the provider, then to the index. The account organizes the event, and its own addresses are left out of ' +
      '`attendees`. What the provider cannot hold is refused with `provider_unsupported`, and nothing is written then.',
    refuses: [...WRITING_REASONS, ...FIELD_REASONS],
    params: accountPath,
    body: newEvent,
    output: calendarEventWithBody,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/calendar-events/{eventId}',
    scope: 'write',
    module: 'calendar',
    accountToken: true,
    audit: 'calendar_event.update',
    bodyBytesMax: EVENT_BYTES_MAX,
    summary: 'Change a calendar event.',
    description:
      'Fields that are present change; null clears. The id chooses the target: a single, a whole series, or one occurrence. ' +
      'From an occurrence, `scope` widens it: `following` splits the series there and answers the new series, `series` ' +
      'changes and answers the whole series. `start` and `end` of an occurrence are its own in each scope; the series moves ' +
      'by the difference. An account that does not organize the event may change `showAs`, `sensitivity`, `reminderMinutes` and `calendarId`.',
    refuses: [...WRITING_REASONS, ...FIELD_REASONS, 'calendar_event_not_found', 'recurrence_on_instance'],
    params: eventPath,
    query: z.strictObject({ scope }),
    body: eventChange,
    output: calendarEventWithBody,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/calendar-events/{eventId}',
    scope: 'write',
    module: 'calendar',
    accountToken: true,
    audit: 'calendar_event.delete',
    summary: 'Delete a calendar event.',
    description:
      'The target is chosen as in PATCH. `scope=following` ends the series before the occurrence. An account that does not organize it ' +
      'deletes the account’s own copy and, with `notify`, declines.',
    refuses: [...WRITING_REASONS, 'calendar_event_not_found'],
    params: eventPath,
    query: z.strictObject({
      scope,
      notify: queryBoolean
        .default(true)
        .describe(
          'Whether the people whom this concerns are told: by the provider, or by mail of the account.',
        ),
    }),
    output: z.null(),
  }),

  respond: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/calendar-events/{eventId}/respond',
    scope: 'write',
    module: 'calendar',
    accountToken: true,
    audit: 'calendar_event.respond',
    summary: 'Answer an invitation.',
    description:
      'The id chooses the event, the whole series, or one occurrence. Where the provider removes a declined event from the ' +
      'calendar, the answer is its last state, and `calendar_event.deleted` follows.',
    refuses: [...WRITING_REASONS, 'calendar_event_not_found', 'organizer_cannot_respond'],
    params: eventPath,
    body: eventResponse,
    output: calendarEventWithBody,
  }),
}
