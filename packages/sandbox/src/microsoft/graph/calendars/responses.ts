import type { Attendee, ResponseStatus } from '../../mailbox/event.ts'
import { changeEvent, changeOccurrence, deleteOccurrence, removeEvent } from '../../mailbox/events.ts'
import { badRequest } from '../errors.ts'
import { boolean, objectIn, text } from '../message-input.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, WRITE_CALENDARS } from '../method.ts'
import { readTime } from './event-times.ts'
import { EVENT_PATHS, type FoundEvent, requireEvent, requireWriter } from './find.ts'
import { mail, mailboxAt, noteResponse } from './invitations.ts'

const ACTIONS = {
  accept: { response: 'accepted', words: 'Accepted' },
  tentativelyAccept: { response: 'tentativelyAccepted', words: 'Tentative' },
  decline: { response: 'declined', words: 'Declined' },
} as const
const SHOWN = { accept: 'busy', tentativelyAccept: 'tentative', decline: 'free' } as const
type Action = keyof typeof ACTIONS

/** Actions by which an attendee responds to a meeting. */
export const responseMethods: readonly GraphMethod[] = EVENT_PATHS.flatMap(path =>
  Object.keys(ACTIONS).map((action): GraphMethod => ({
    http: 'POST',
    path: `${path}/${action}`,
    scopes: WRITE_CALENDARS,
    // The names are those of the actions.
    run: call => respond(call, action as Action),
  })),
)

function respond(call: MethodCall, action: Action): GraphAnswer {
  const found = requireWriter(requireEvent(call))
  const { mailbox, event } = found
  if (event.of.isOrganizer)
    throw badRequest(
      "Your request can't be completed. You can't respond to this meeting because you're the meeting organizer.",
      'ErrorInvalidRequest',
    )
  const { comment, isSent } = readResponse(call, found)
  if (isSent && !event.responseRequested)
    throw badRequest(
      "Your request can't be completed. The meeting organizer hasn't requested a response.",
      'ErrorInvalidRequest',
    )
  const { response, words } = ACTIONS[action]
  const status: ResponseStatus = { response, at: call.graph.clock.now() }
  record(found, status, action)
  if (!isSent) return { status: 202 }
  const { address } = event.of.organizer
  const home = mailboxAt(call.graph, address)
  if (home) noteResponse(home, event.of.uid, { address: mailbox.email, status, day: event.day })
  const attendees: Attendee[] = [{ name: mailbox.name, address: mailbox.email, type: 'required', status }]
  mail(call.graph, mailbox, event, {
    to: address,
    method: 'REPLY',
    words: `${words}: ${event.subject}`,
    comment,
    attendees,
  })
  return { status: 202 }
}

function readResponse(call: MethodCall, { event }: FoundEvent): { comment: string; isSent: boolean } {
  const json = call.bytes.length > 0 ? call.json() : {}
  const given = new Map(Object.entries(json).map(([name, value]) => [name.toLowerCase(), value]))
  const proposed = given.get('proposednewtime')
  if (proposed !== undefined && proposed !== null) {
    if (!event.allowNewTimeProposals)
      throw badRequest('The organizer does not allow proposals of another time.', 'ErrorInvalidRequest')
    const slot = objectIn(proposed, 'proposedNewTime')
    for (const name of ['start', 'end']) readTime(slot[name], name)
  }
  return {
    comment: text(given.get('comment'), 'comment'),
    isSent: boolean(given.get('sendresponse') ?? true, 'sendResponse'),
  }
}

/** Keeps the response in the attendee's calendar, from which a declined meeting is gone, unless the mailbox keeps it. */
function record({ mailbox, calendar, event }: FoundEvent, status: ResponseStatus, action: Action): void {
  const { of, day } = event
  if (action === 'decline' && !mailbox.keepsDeclined) {
    if (day === null) removeEvent(mailbox, calendar, of)
    else deleteOccurrence(mailbox, calendar, of, day)
    return
  }
  const showAs = SHOWN[action]
  const attendees = event.attendees.map(one =>
    one.address.toLowerCase() === mailbox.email ? { ...one, status } : one,
  )
  const fields = { response: status, showAs, attendees } as const
  if (day === null) changeEvent(mailbox, calendar, of, fields)
  else changeOccurrence(mailbox, calendar, of, { day, fields })
}
