import { comparedAddress } from '../../../kit/compared-address.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import type { WrittenEvents } from '../../../providers/changing-calendars.ts'
import type { AskedWrite } from '../writing/ask-events.ts'
import { type Meeting, meetingOf } from './meeting.ts'
import { isOrganizedBy, type Message, type MessageOptions, messageSteps } from './plan-messages.ts'
import { beforeOwnChanges } from './own-changes.ts'
import { hasAnswer, planDeclining, planReplies } from './plan-replies.ts'
import { mailsFor } from './write-mails.ts'

/** A write that was made, and the event as the index had it before; null if it is new. */
export interface MadeWrite {
  asked: AskedWrite
  before: Meeting | null
  written: WrittenEvents
  /** Whether others may have changed the event since `before`. */
  isOvertaken: boolean
}

/** Plans what people are told of a write. */
export function* writtenSteps(
  { asked, before, written, isOvertaken }: MadeWrite,
  options: MessageOptions,
): Steps<Message[]> {
  const after = new Map<string, Meeting>()
  for (const { object } of written.items) {
    const meeting = object.type === 'item' ? meetingOf(object) : null
    if (meeting) after.set(meeting.uid, meeting)
    yield
  }
  if (asked.type === 'respond') {
    const meeting = before ? after.get(before.uid) : [...after.values()][0]
    // Of an answer that was not begun, or that another one has replaced, nobody is told.
    if (!meeting || (isOvertaken && !hasAnswer(meeting, asked, options.own))) return []
    return planReplies(meeting, asked, options)
  }
  if (asked.type === 'remove' && before && !isOrganizedBy(before, options.own))
    return planDeclining(before, asked.part, options)
  const messages: Message[] = []
  for (const uid of new Set([...(before ? [before.uid] : []), ...after.keys()])) {
    const now = after.get(uid) ?? null
    const known = before?.uid === uid ? before : null
    const former = isOvertaken ? yield* beforeOwnChanges(known, now, asked) : known
    messages.push(...(yield* messageSteps(former, now, options)))
  }
  return messages
}

/** The most mails that a write may take, before it is made. Exceptions with guests of their own may take more. */
export function countMails(asked: AskedWrite, before: Meeting | null, options: MessageOptions): number {
  const { own, isMailable } = options
  if (asked.type === 'respond') return 1
  if (asked.type === 'remove' && before && !isOrganizedBy(before, own))
    return planDeclining(before, asked.part, options).length
  const isOther = (address: string) => isMailable(address) && !own.has(comparedAddress(address))
  const known = new Set(
    [before?.event, ...(before?.exceptions ?? []).map(({ event }) => event)].flatMap(event =>
      (event?.attendees ?? []).map(({ address }) => comparedAddress(address)),
    ),
  )
  const others = (addresses: Iterable<string>) => mailsFor([...addresses].filter(isOther).length)
  if (asked.type === 'remove') return others(known)
  const given = asked.type === 'create' ? asked.fields.attendees : asked.change.attendees
  const invited = given && new Set(given.map(({ address }) => comparedAddress(address)))
  if (asked.type === 'create') return others(invited ?? [])
  const removed = invited ? [...known].filter(address => !invited.has(address)) : []
  // People get one mail about each of the two series that a split leaves.
  const series = asked.part.type === 'following' ? others(known) : 0
  return others(invited ?? known) + others(removed) + series
}
