import { z } from 'zod'

/*
 * Events as the API answers them (developers.google.com/workspace/calendar/api/v3/reference/events). A field of another form
 * reads as absent, so that it costs only itself; without a start, or the place in its series, an event cannot be read.
 */

const text = z.string().nullish().catch(null)
const flag = z.boolean().nullish().catch(null)
const list = z.array(z.unknown()).catch([])

const time = z.object({ date: text, dateTime: text, timeZone: text })
export type GoogleTime = z.infer<typeof time>

/** Recurrence lines of one series that are read. More make it unreadable. */
export const RECURRENCE_LINES_MAX = 1_000

/** The name and state of an event, whatever else it has. Cancelled ones may have nothing more. */
export const namedSchema = z.object({
  id: z.string().min(1),
  etag: text,
  status: text,
  recurringEventId: text,
})
export type NamedEvent = z.infer<typeof namedSchema>

export const personSchema = z.object({ email: text, displayName: text, self: flag })
export const attendeeSchema = personSchema.extend({ optional: flag, resource: flag, responseStatus: text })

export const reminderSchema = z.object({ method: z.string(), minutes: z.int().min(0) })

/** The private property of an event that holds the link to a meeting at another service. */
export const MEETING_PROPERTY = 'waxwing.meeting'

export const eventSchema = z.object({
  status: text,
  start: time,
  end: time.nullish().catch(null),
  originalStartTime: time.nullish(),
  recurrence: z.array(z.string()).max(RECURRENCE_LINES_MAX).nullish(),
  summary: text,
  description: text,
  location: text,
  organizer: personSchema.nullish().catch(null),
  attendees: list,
  transparency: text,
  visibility: text,
  eventType: text,
  workingLocationProperties: z.object({ type: text }).nullish().catch(null),
  conferenceData: z
    .object({
      createRequest: z
        .object({
          conferenceSolutionKey: z.object({ type: text }).nullish().catch(null),
          status: z.object({ statusCode: text }).nullish().catch(null),
        })
        .nullish()
        .catch(null),
      entryPoints: list,
    })
    .nullish()
    .catch(null),
  hangoutLink: text,
  extendedProperties: z
    .object({ private: z.record(z.string(), z.unknown()).catch({}) })
    .nullish()
    .catch(null),
  iCalUID: text,
  attachments: list,
  reminders: z.object({ useDefault: flag, overrides: list }).nullish().catch(null),
  htmlLink: text,
  updated: text,
})
export type GoogleEvent = z.infer<typeof eventSchema>
