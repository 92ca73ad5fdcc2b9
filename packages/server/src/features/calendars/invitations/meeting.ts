import { createHash } from 'node:crypto'
import { storable } from '../../../kit/storable.ts'
import type { RemoteEvent, RemoteItem } from '../../../providers/calendars.ts'

/** The fields of an event that its people are told. */
export interface MeetingEvent extends Pick<
  RemoteEvent,
  | 'start'
  | 'end'
  | 'subject'
  | 'location'
  | 'organizer'
  | 'attendees'
  | 'status'
  | 'sensitivity'
  | 'onlineMeetingUrl'
> {
  sequence: number
  /** ISO 8601, or null. */
  stampedAt: string | null
  bodyDigest: string | null
  /** Null also if only its digest is known. */
  body: RemoteEvent['body']
}

/** A single, or a series with its exceptions, as its people are told of it. It is kept as JSON. */
export interface Meeting {
  uid: string
  /** Null: a series of which only exceptions are known. */
  event: MeetingEvent | null
  /** Null: a single. */
  recurrence: readonly string[] | null
  exceptions: ReadonlyArray<{ member: string; event: MeetingEvent }>
  taken: readonly string[]
}

/** The meeting of an item as it was read; null if it has no UID. */
export function meetingOf({ event, recurrence, members }: RemoteItem): Meeting | null {
  const first = event ?? members?.exceptions[0]?.event
  if (!first || first.iCalUid === null) return null
  return {
    uid: first.iCalUid,
    event: event && meetingEventOf(event),
    recurrence,
    exceptions: (members?.exceptions ?? []).map(exception => ({
      member: exception.member,
      event: meetingEventOf(exception.event),
    })),
    taken: members?.taken ?? [],
  }
}

const meetingEventOf = (event: RemoteEvent): MeetingEvent => ({
  ...fieldsOf(event),
  stampedAt: event.updatedAt?.toISOString() ?? null,
  bodyDigest: digestOf(event.body),
  body: event.body,
})

/** The fields that an event has in the index, too. */
export function fieldsOf(
  event: Omit<MeetingEvent, 'sequence' | 'stampedAt' | 'body' | 'bodyDigest'> & { sequence?: number },
): Omit<MeetingEvent, 'stampedAt' | 'body' | 'bodyDigest'> {
  const { start, end, subject, location, organizer, attendees, status, sensitivity, onlineMeetingUrl } = event
  const sequence = event.sequence ?? 0
  return {
    start,
    end,
    subject,
    location,
    organizer,
    attendees,
    status,
    sensitivity,
    onlineMeetingUrl,
    sequence,
  }
}

/** A digest by which bodies are compared, as `load-meetings.ts` makes it of stored ones. */
function digestOf(body: RemoteEvent['body']): string | null {
  if (body === null) return null
  return createHash('sha256')
    .update(`${body.contentType}:${storable(body.content)}`)
    .digest('hex')
}
