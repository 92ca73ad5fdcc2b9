import { comparedAddress } from '../../../kit/compared-address.ts'
import { derivedId } from '../../../kit/ids.ts'
import { printCalendarSteps } from '../../../kit/itip/print-calendar.ts'
import { openPrintedBodies } from '../../../kit/itip/printed-bodies.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import type { EventAddress } from '../../../providers/calendars.ts'
import { INVITED_MAX, type InvitationMail } from '../../sending/invitations/invitation.ts'
import type { Message } from './plan-messages.ts'
import { printTexts } from './print-texts.ts'

/** A mail, and the UID of the event that it is about. */
export interface EventMail {
  uid: string
  /** Its `eventId` is the id of the write, until that of the event is known. */
  mail: InvitationMail
}

/** Characters of all calendar objects of one write. */
const CHARACTERS_MAX = 32 * 1024 * 1024

/**
 * Writes messages as mails.
 * @throws RangeError if they are larger than 32 MiB together
 * @param writeId the same in each try of one write, so that its mails have the same ids
 */
export function* mailSteps(messages: readonly Message[], writeId: string): Steps<EventMail[]> {
  const mails: EventMail[] = []
  const bodies = openPrintedBodies()
  let left = CHARACTERS_MAX
  const batches = new Map<string, number>()
  for (const message of messages) {
    const { method, uid, member, from, components } = message
    const body = components[0]?.body ?? null
    const texts = printTexts(message, body && (yield* bodies.printSteps(body)).text)
    yield
    const calendar = yield* printCalendarSteps(method, components, bodies)
    left -= calendar.length
    if (left < 0) throw new RangeError('the mails of the write are too large')
    const name = JSON.stringify([uid, method, member])
    for (const to of recipientsOf(message)) {
      const batch = batches.get(name) ?? 0
      batches.set(name, batch + 1)
      const id = derivedId(writeId, JSON.stringify([uid, method, member, batch]))
      mails.push({ uid, mail: { id, from, to, ...texts, method, calendar, eventId: writeId } })
    }
  }
  return mails
}

/** The recipients in batches, in an order that does not depend on that of the attendees. */
function recipientsOf({ to }: Message): EventAddress[][] {
  const sorted = to
    .map(({ name, address }) => ({ name, address }))
    .toSorted((one, other) => (comparedAddress(one.address) < comparedAddress(other.address) ? -1 : 1))
  return Array.from({ length: mailsFor(sorted.length) }, (_, batch) =>
    sorted.slice(batch * INVITED_MAX, (batch + 1) * INVITED_MAX),
  )
}

/** The mails that this many recipients of one message take. */
export const mailsFor = (recipients: number): number => Math.ceil(recipients / INVITED_MAX)
