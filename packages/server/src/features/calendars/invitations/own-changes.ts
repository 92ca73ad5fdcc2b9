import { isDeepStrictEqual } from 'node:util'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import type { EventChange, TimesOf } from '../../../providers/changing-calendars.ts'
import { newTimes } from '../../../providers/new-times.ts'
import type { AskedChange, AskedRemoval, AskedWrite } from '../writing/ask-events.ts'
import { STEP_MEMBERS } from '../events/item.ts'
import { memberEvent } from './changes.ts'
import type { Meeting, MeetingEvent } from './meeting.ts'

/*
 * A write may be finished, or repeated, after others have changed its event. They have told people of their changes
 * themselves, and people who are told of all differences would get those once more.
 */

/**
 * The meeting as it would have been before a write if all that is not of the write had been done earlier: it differs from the meeting
 * as it is now in what the write has changed.
 * @param before as it was when the write was noted
 * @param after as it is now; null: it is gone
 * @returns null if nobody is to be told of the meeting as it was
 */
export function* beforeOwnChanges(
  before: Meeting | null,
  after: Meeting | null,
  asked: AskedWrite,
): Steps<Meeting | null> {
  if (!before || asked.type === 'create' || asked.type === 'respond') return before
  if (asked.type === 'remove') return after ? beforeRemoval(before, after, asked) : before
  return after && (yield* beforeChange(before, after, asked))
}

function* beforeChange(before: Meeting, after: Meeting, { part, change }: AskedChange): Steps<Meeting> {
  if (part.type === 'following') return beforeEnding(before, after, part.member)
  if (part.type === 'member') {
    const { member } = part
    const now = after.exceptions.find(one => one.member === member)?.event
    const former = membersOf(before)(member)
    if (!now || !former) return after
    const exceptions = after.exceptions.filter(one => one.member !== member)
    return {
      ...after,
      exceptions: [...exceptions, { member, event: formerEvent(former, now, change, null) }],
    }
  }
  const { start: _, end: __, recurrence, ...fields } = change
  const event =
    before.event && after.event ? formerEvent(before.event, after.event, change, part.timesOf) : after.event
  const isMoved = event?.start !== after.event?.start
  if (isMoved || (recurrence !== undefined && !isDeepStrictEqual(before.recurrence, after.recurrence))) {
    const { exceptions, taken } = before
    return { ...after, event, exceptions, taken, recurrence: before.recurrence }
  }
  const memberOf = membersOf(before)
  const exceptions: Meeting['exceptions'][number][] = []
  for (const { member, event: now } of after.exceptions) {
    const former = memberOf(member)
    exceptions.push({ member, event: former ? formerEvent(former, now, fields, null) : now })
    if (exceptions.length % STEP_MEMBERS === 0) yield
  }
  return { ...after, event, exceptions }
}

function beforeRemoval(before: Meeting, after: Meeting, { part }: AskedRemoval): Meeting {
  if (part.type === 'all') return before
  if (part.type === 'following') return beforeEnding(before, after, part.member)
  const { member } = part
  const others = after.exceptions.filter(one => one.member !== member)
  const own = before.exceptions.filter(one => one.member === member)
  const taken = after.taken.filter(one => one !== member)
  return { ...after, taken, exceptions: [...others, ...own] }
}

/** A series before it was ended before a member. */
function beforeEnding(before: Meeting, after: Meeting, from: string): Meeting {
  const ended = before.exceptions.filter(({ member }) => member >= from)
  const taken = before.taken.filter(member => member >= from)
  return {
    ...after,
    recurrence: before.recurrence,
    exceptions: [...after.exceptions.filter(({ member }) => member < from), ...ended],
    taken: [...after.taken.filter(member => member < from), ...taken],
  }
}

/** The members of a series by their names; null: it has none of that name. */
function membersOf({
  event,
  exceptions,
  recurrence,
  taken,
}: Meeting): (member: string) => MeetingEvent | null {
  const byMember = new Map(exceptions.map(one => [one.member, one.event]))
  const gone = new Set(taken)
  return member => {
    const exception = byMember.get(member)
    if (exception) return exception
    return event && recurrence && !gone.has(member) ? memberEvent(event, member) : null
  }
}

/** An event as it is now, with the former values of fields that have the values of a change. */
function formerEvent(
  former: MeetingEvent,
  now: MeetingEvent,
  change: EventChange,
  timesOf: TimesOf | null,
): MeetingEvent {
  const { subject, location, body, attendees, onlineMeeting, onlineMeetingUrl } = change
  const isOwn = (asked: string | null | undefined, found: string | null) =>
    asked !== undefined && plain(asked) === plain(found)
  const hasOwnUrl = onlineMeeting !== undefined || isOwn(onlineMeetingUrl, now.onlineMeetingUrl)
  return {
    ...now,
    ...formerTimes(former, now, change, timesOf),
    ...(isOwn(subject, now.subject) && { subject: former.subject }),
    ...(isOwn(location, now.location) && { location: former.location }),
    ...(hasOwnUrl && { onlineMeetingUrl: former.onlineMeetingUrl }),
    // Providers write bodies in their own way.
    ...(body !== undefined && { bodyDigest: former.bodyDigest, body: former.body }),
    ...(attendees && { attendees: formerAttendees(former, now, attendees) }),
  }
}

/** Providers may write white space and punctuation in another way. */
const plain = (text: string | null): string => (text ?? '').replaceAll(/[^\p{L}\p{N}]/gu, '')

function formerTimes(
  former: MeetingEvent,
  now: MeetingEvent,
  { start, end }: EventChange,
  timesOf: TimesOf | null,
): Partial<MeetingEvent> {
  if (!start && !end) return {}
  const given = { ...(start && { start }), ...(end && { end }) }
  const planned = newTimes({ start: former.start, end: former.end }, given, timesOf?.member ?? null)
  const isOwn = isDeepStrictEqual(planned.start, now.start) && isDeepStrictEqual(planned.end, now.end)
  return isOwn ? { start: former.start, end: former.end } : {}
}

/** People whom the change has added are not among them, and those whom it has removed are. */
function formerAttendees(
  former: MeetingEvent,
  now: MeetingEvent,
  asked: NonNullable<EventChange['attendees']>,
): MeetingEvent['attendees'] {
  const namesOf = (people: ReadonlyArray<{ address: string }>) =>
    new Set(people.map(({ address }) => comparedAddress(address)))
  const [wanted, known, present] = [namesOf(asked), namesOf(former.attendees), namesOf(now.attendees)]
  const nameOf = ({ address }: { address: string }) => comparedAddress(address)
  const kept = now.attendees.filter(one => known.has(nameOf(one)) || !wanted.has(nameOf(one)))
  const removed = former.attendees.filter(one => !wanted.has(nameOf(one)) && !present.has(nameOf(one)))
  return [...kept, ...removed]
}
