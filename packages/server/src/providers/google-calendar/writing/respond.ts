import type { EventResponse, MemberPlace, WrittenEvents } from '../../changing-calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { isOwn, shownAttendees } from './attendees.ts'
import {
  askHeld,
  askMember,
  changeHeld,
  changeListed,
  type EventWrite,
  writtenEvents,
} from './event-write.ts'
import type { HeldEvent, Json } from './held-event.ts'
import { isSeries, loadSeries } from './series.ts'

/** Answers an invitation. Exceptions of a series that had its answer get the new one as well. */
export async function respond(
  write: EventWrite,
  key: string,
  member: MemberPlace | null,
  response: EventResponse,
): Promise<WrittenEvents> {
  const read = () => (member ? askMember(write, key, member) : askHeld(write, key))
  const { before, answered } = await changeHeld(write, read, held => answerPatch(write, held, response))
  const others: unknown[] = []
  if (!member && isSeries(before)) {
    const former = answerOf(write, before)
    for (const { held } of (await loadSeries(write, before)).exceptions) {
      if (answerOf(write, held) !== former) continue
      others.push((await changeListed(write, held, one => answerPatch(write, one, response))).answered)
    }
  }
  return writtenEvents(write, key, [answered, ...others])
}

function answerOf({ options }: EventWrite, held: HeldEvent): string | null {
  return shownAttendees(held).find(each => isOwn(each, options.own))?.read.responseStatus ?? null
}

/**
 * Another answer of the account, without the other attendees: Google may not show them all, and they may answer meanwhile.
 * A comment belongs to its answer.
 */
function answerPatch(
  { options: { own } }: EventWrite,
  held: HeldEvent,
  { response, comment }: EventResponse,
): Json {
  const attendees = shownAttendees(held)
  const self = attendees.find(each => each.read.self === true) ?? attendees.find(each => isOwn(each, own))
  if (!self) throw new ProviderFailure('rejected', 'The account is not invited to the event.')
  const { comment: _former, ...kept } = self.raw
  const answer = { ...kept, responseStatus: response, ...(comment !== null && { comment }) }
  return { attendeesOmitted: true, attendees: [answer] }
}
