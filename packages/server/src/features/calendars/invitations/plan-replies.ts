import { comparedAddress } from '../../../kit/compared-address.ts'
import type { ItipComponent } from '../../../kit/itip/component.ts'
import type { RemoteAttendee } from '../../../providers/calendars.ts'
import { memberEvent } from './changes.ts'
import { componentOf, stampAfter } from './components.ts'
import type { Meeting, MeetingEvent } from './meeting.ts'
import { isOrganizedBy, type Message, type MessageOptions } from './plan-messages.ts'

/** The part of an invitation that the account has answered, or deleted. */
export type AnsweredPart =
  | { type: 'all' }
  | { type: 'member'; member: string }
  | { type: 'following'; member: string }

/** The account's answer to an invitation. */
export interface Answer {
  part: AnsweredPart
  /** Whether the account deletes its copy, which then has not the answer. Default: false. */
  isDeleted?: boolean
  response: 'accepted' | 'tentative' | 'declined'
  comment: string | null
}

/**
 * Plans the reply to the organizer of a meeting.
 * @param meeting with the answer, or as it was before the account deleted it
 */
export function planReplies(meeting: Meeting, answer: Answer, options: MessageOptions): Message[] {
  const { own, isMailable } = options
  if (isOrganizedBy(meeting, own)) return []
  const components = answeredEvents(meeting, answer.part).flatMap(event =>
    replyOf(meeting, event, answer, options),
  )
  const [first] = components
  if (!first || !isMailable(comparedAddress(first.organizer.address))) return []
  const member = answer.part.type === 'all' ? null : answer.part.member
  const from = first.attendees[0]!
  return [
    {
      method: 'REPLY',
      uid: meeting.uid,
      member,
      isNew: false,
      from: { name: from.name, address: from.address },
      to: [first.organizer],
      components,
    },
  ]
}

/** Plans the reply of an account that deletes its copy of an invitation. Nothing if it has declined before. */
export function planDeclining(meeting: Meeting, part: AnsweredPart, options: MessageOptions): Message[] {
  const { own } = options
  const isOpen = ({ event }: AnsweredEvent) =>
    event.status !== 'cancelled' && ownLine(event, own)?.response !== 'declined'
  if (!answeredEvents(meeting, part).some(isOpen)) return []
  return planReplies(meeting, { part, isDeleted: true, response: 'declined', comment: null }, options)
}

/** Whether a meeting has the answer of the account. */
export function hasAnswer(
  meeting: Meeting,
  { part, response }: Pick<Answer, 'part' | 'response'>,
  own: ReadonlySet<string>,
): boolean {
  return answeredEvents(meeting, part).some(({ event }) => ownLine(event, own)?.response === response)
}

interface AnsweredEvent {
  event: MeetingEvent
  member: string | null
}

/** The events that an answer is given to: of a series its exceptions, too. */
function answeredEvents({ event, exceptions }: Meeting, part: AnsweredPart): AnsweredEvent[] {
  if (part.type === 'all') return [...(event ? [{ event, member: null }] : []), ...exceptions]
  const { member } = part
  const exception = exceptions.find(one => one.member === member)
  if (exception) return [exception]
  return event ? [{ event: memberEvent(event, member), member }] : []
}

/** The account is named with the address that is invited. */
function replyOf(
  { uid, event: series }: Meeting,
  { event, member }: AnsweredEvent,
  { part, isDeleted, response, comment }: Answer,
  options: MessageOptions,
): ItipComponent[] {
  const attendee = ownLine(event, options.own)
  if (!attendee || event.organizer === null || event.status === 'cancelled') return []
  const component = componentOf(uid, event, member === null ? null : { member, series }, options)
  return [
    {
      ...component,
      ...(part.type === 'following' && { isOfFuture: true }),
      // An answer is noted in the file, with its stamp; a deletion comes after the last answer.
      stamp: isDeleted ? stampAfter(event, null, options.now) : component.stamp,
      attendees: [{ ...attendee, response }],
      body: null,
      meetingUrl: null,
      isPrivate: false,
      comment,
    },
  ]
}

const ownLine = ({ attendees }: MeetingEvent, own: ReadonlySet<string>): RemoteAttendee | undefined =>
  attendees.find(({ address }) => own.has(comparedAddress(address)))
