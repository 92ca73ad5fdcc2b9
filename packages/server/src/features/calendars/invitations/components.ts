import type { ItipAttendee, ItipComponent, ItipPerson } from '../../../kit/itip/component.ts'
import type { Meeting, MeetingEvent } from './meeting.ts'
import type { Share } from './shares.ts'

/* Events of meetings as components of messages. */

export interface ComponentOptions {
  /** The organizer where the event names none. */
  self: ItipPerson
  /** When the write was made. */
  now: Date
}

/**
 * An event as a component.
 * @param member the member of a series that it is; null: a single or a series
 */
export function componentOf(
  uid: string,
  event: MeetingEvent,
  member: { member: string; series: MeetingEvent | null } | null,
  { self, now }: ComponentOptions,
): ItipComponent {
  return {
    uid,
    // Without its series, the start of an exception shows in which zone members are.
    recurrenceId: member && { wall: member.member, zone: (member.series ?? event).start.zone },
    sequence: event.sequence,
    stamp: stampOf(event) ?? now,
    start: event.start,
    end: event.end,
    recurrence: [],
    excluded: [],
    organizer: event.organizer ?? self,
    attendees: event.attendees,
    subject: event.subject,
    location: event.location,
    body: event.body,
    meetingUrl: event.onlineMeetingUrl,
    status: event.status,
    isPrivate: event.sensitivity !== 'normal',
    comment: null,
  }
}

/** A single, or a series with its exceptions, as it is shared with people. */
export function wholeComponents(uid: string, share: Share, options: ComponentOptions): ItipComponent[] {
  const { event, recurrence, exceptions, taken } = share
  if (!event) return []
  const series = {
    ...componentOf(uid, event, null, options),
    recurrence: recurrence ?? [],
    excluded: [...taken].toSorted(),
  }
  const members = [...exceptions].map(([member, exception]) =>
    componentOf(uid, exception, { member, series: event }, options),
  )
  return [series, ...members]
}

/** A component that cancels an event for some of its people, without its details. */
export function cancelling(
  component: ItipComponent,
  attendees: readonly ItipAttendee[],
  revision: Pick<ItipComponent, 'sequence' | 'stamp'>,
): ItipComponent {
  const cancelled = { attendees, ...revision, status: 'cancelled', body: null, meetingUrl: null } as const
  return { ...component, ...cancelled, excluded: [] }
}

const stampOf = (event: MeetingEvent | null): Date | null =>
  event === null || event.stampedAt === null ? null : new Date(event.stampedAt)

/**
 * A stamp that is later than that of an event, so that people take a message for newer than the last one about it (RFC 5546
 * section 2.1.5). It has whole seconds.
 * @param after the event after the write, whose stamp other messages of the write have; null: it is gone
 */
export function stampAfter(before: MeetingEvent | null, after: MeetingEvent | null, now: Date): Date {
  const former = stampOf(before)?.getTime() ?? Number.NEGATIVE_INFINITY
  const stamp = stampOf(after) ?? now
  return new Date(Math.max(stamp.getTime(), former + 1_000))
}

/** The highest SEQUENCE of a meeting. */
export const sequenceOf = ({ event, exceptions }: Meeting): number =>
  [event, ...exceptions.map(exception => exception.event)].reduce(
    (highest, one) => Math.max(highest, one?.sequence ?? 0),
    0,
  )
