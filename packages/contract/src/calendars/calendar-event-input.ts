import { z } from 'zod'
import { mailAddress } from '../mail/address-input.ts'
import { singleLine, text, uuidInput } from '../shapes.ts'

export const ATTENDEES_MAX = 500
const LINES_MAX = 20
const LINE_CHARACTERS_MAX = 20_000
const BODY_CHARACTERS_MAX = 1_000_000
const REMINDER_MINUTES_MAX = 40_320
const URL_CHARACTERS_MAX = 2_048

/** ISO 8601, with `Z`, an offset, or neither. */
const DATE_TIME = z.iso.datetime({
  offset: true,
  local: true,
  error: 'must be an ISO 8601 date-time, with or without Z or an offset',
})

export const eventTimeInput = z
  .strictObject({
    dateTime: DATE_TIME.optional().describe(
      'With `Z` or an offset an instant; without, the time of a clock in `timeZone`.',
    ),
    date: z.iso
      .date({ error: 'must be a day such as 2026-12-24' })
      .optional()
      .describe('The day of an event of whole days, in place of `dateTime`.'),
    timeZone: singleLine({ min: 1, max: 255 })
      .optional()
      .describe('An IANA name. Required for a series, and for a `dateTime` without `Z` or offset.'),
  })
  .meta({ id: 'EventTimeInput' })
export type EventTimeInput = z.infer<typeof eventTimeInput>

const attendeeInput = z
  .strictObject({
    name: singleLine({ max: 256 }).nullish().describe('The display name.'),
    address: mailAddress,
    type: z.enum(['required', 'optional', 'resource']).default('required'),
  })
  .meta({ id: 'AttendeeInput' })

const attendees = z.array(attendeeInput).max(ATTENDEES_MAX, `must have at most ${ATTENDEES_MAX} attendees`)

const bodyInput = z
  .strictObject({
    contentType: z.enum(['text', 'html']).default('text'),
    content: text({ max: BODY_CHARACTERS_MAX }).refine(
      value => !/[^\P{Cc}\n\r\t]/u.test(value),
      'must not contain control characters other than line breaks and tabs',
    ),
  })
  .meta({ id: 'EventBodyInput' })

const recurrence = z
  .array(singleLine({ min: 1, max: LINE_CHARACTERS_MAX }))
  .min(1)
  .max(LINES_MAX, `must have at most ${LINES_MAX} lines`)
  .describe('Content lines with their names: one RRULE, and any RDATE and EXDATE (RFC 5545).')

const line = singleLine({ max: 255 }).nullish()

const meetingUrl = singleLine({ min: 1, max: URL_CHARACTERS_MAX })
  .refine(isWebUrl, 'must be an http or https URL')
  .meta({ format: 'uri' })

function isWebUrl(value: string): boolean {
  return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)
}

/** The fields that POST and PATCH have in common. */
const fields = {
  subject: line,
  body: bodyInput.nullish(),
  location: line,
  showAs: z.enum(['free', 'busy', 'tentative', 'oof', 'working_elsewhere']).optional(),
  sensitivity: z.enum(['normal', 'personal', 'private', 'confidential']).optional(),
  reminderMinutes: z
    .int()
    .min(0)
    .max(REMINDER_MINUTES_MAX)
    .nullish()
    .describe('Null: none. Absent in POST: as the calendar has it by default.'),
  onlineMeeting: z
    .boolean()
    .optional()
    .describe('Whether the provider is to give the event a meeting of its own.'),
  onlineMeetingUrl: meetingUrl.nullish().describe('The link to a meeting at another service.'),
}

const notify = z
  .boolean()
  .default(true)
  .describe('Whether the people whom this concerns are told: by the provider, or by mail of the account.')

export const newEvent = z.strictObject({
  calendarId: uuidInput,
  start: eventTimeInput,
  end: eventTimeInput.describe('The first moment after the event.'),
  ...fields,
  attendees: attendees.default([]),
  recurrence: recurrence.nullish(),
  notify,
})
export type NewEvent = z.infer<typeof newEvent>

export const eventChange = z.strictObject({
  calendarId: uuidInput
    .optional()
    .describe('Moves a single or a whole series to another calendar of the account.'),
  start: eventTimeInput.optional().describe('Alone, it moves the event and keeps its length.'),
  end: eventTimeInput.optional().describe('The first moment after the event.'),
  ...fields,
  attendees: attendees
    .optional()
    .describe('Replaces the list by address. Attendees who stay keep their responses.'),
  recurrence: recurrence
    .nullish()
    .describe(
      'Makes a single a series, or replaces rules and dates of one. Null: the first occurrence stays.',
    ),
  notify,
})
export type EventChangeInput = z.infer<typeof eventChange>

export const eventResponse = z.strictObject({
  response: z.enum(['accepted', 'tentative', 'declined']),
  comment: text({ max: 1_000 })
    .refine(
      value => !/[^\P{Cc}\n\r]/u.test(value),
      'must not contain control characters other than line breaks',
    )
    .nullish(),
  notify,
})

export type EventResponseInput = z.infer<typeof eventResponse>

/** How many occurrences of a series a request is about. */
export const scope = z
  .enum(['this', 'following', 'series'])
  .optional()
  .describe(
    'From an occurrence: `this` one (default), it and those `following`, or the whole `series`. The id of a single or a ' +
      'series takes only `series`.',
  )
export type EventScope = z.infer<typeof scope>
