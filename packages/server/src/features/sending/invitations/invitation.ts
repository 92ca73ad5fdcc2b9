import { isMailAddress } from '@waxwing/contract/mail/address-input.ts'
import { cleanLine } from '../../../kit/mime/text.ts'
import type { EventAddress } from '../../../providers/calendars.ts'
import type { CalendarObject } from '../compose/composition.ts'

/** Recipients of one mail. */
export const INVITED_MAX = 100

/**
 * A mail by which an event concerns other people (iMIP, RFC 6047). It is sent as a message of the outbox is, but is no
 * entry of it: it causes no event, and no suppression list is asked.
 */
export interface InvitationMail {
  /** A UUID. The same mail of the same write has the same id, and is queued once. */
  id: string
  /** The account as a party of the event. Replaced by the address of the account if no mail can be from it. */
  from: EventAddress
  /** At most 100. Addresses that no mail can be sent to are left out; a mail to nobody is not sent. */
  to: readonly EventAddress[]
  /** One line; control characters become spaces. */
  subject: string
  text: string
  html: string
  method: CalendarObject['method']
  /** The whole iCalendar object, with CRLF after each line. */
  calendar: string
  /** The id of the event, a UUID; for an occurrence, that of its series. */
  eventId: string
}

const NAME_LENGTH_MAX = 256
const SUBJECT_LENGTH_MAX = 500

/** An invitation that can be written. Calendars have names, titles and addresses of any kind. */
export function cleanInvitation(mail: InvitationMail, accountEmail: string): InvitationMail {
  if (mail.to.length > INVITED_MAX)
    throw new Error(`An invitation has at most ${INVITED_MAX} recipients, not ${mail.to.length}`)
  const from = isMailAddress(mail.from.address) ? mail.from.address : accountEmail
  return {
    ...mail,
    from: clean({ ...mail.from, address: from }),
    to: mail.to.filter(({ address }) => isMailAddress(address)).map(clean),
    subject: cleanLine(mail.subject, SUBJECT_LENGTH_MAX),
    text: mail.text.toWellFormed(),
    html: mail.html.toWellFormed(),
    calendar: mail.calendar.toWellFormed(),
  }
}

function clean({ name, address }: EventAddress): EventAddress {
  return { name: cleanLine(name ?? '', NAME_LENGTH_MAX) || null, address }
}
