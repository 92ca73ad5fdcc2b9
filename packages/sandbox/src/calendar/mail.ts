import { invitationMail } from '../calendaring/invitation-mail.ts'
import { sharedText } from './invitations.ts'
import type { CalendarParts } from './parts.ts'
import type { StoredEvent } from './store/calendars.ts'

export const UPDATES = ['all', 'externalOnly', 'none'] as const
export type SendUpdates = (typeof UPDATES)[number]

/** Mails the organizer's change of an event to its attendees (RFC 6047), as far as they are users of the sandbox. */
export function mailChange(
  { store, post }: CalendarParts,
  event: StoredEvent,
  before: StoredEvent | null,
  updates: SendUpdates,
): void {
  if (updates === 'none' || (before && sharedText(before) === sharedText(event))) return
  const invited = event.status === 'cancelled' ? [] : event.attendees.map(({ email }) => email)
  const former = (before ?? event).attendees.map(({ email }) => email)
  const { email: organizer } = event.organizer
  for (const email of new Set([...invited, ...former])) {
    if (email === organizer || (updates === 'externalOnly' && store.lists.has(email))) continue
    const user = post.findUser(email)
    const method = invited.includes(email) ? 'REQUEST' : 'CANCEL'
    if (!user) continue
    const message = Buffer.from(mailOf(event, method, user.email, store))
    post.deliver(user, { message, from: event.creator.email })
  }
}

const WORDS = { REQUEST: 'Invitation', CANCEL: 'Canceled event' } as const

function mailOf(
  event: StoredEvent,
  method: keyof typeof WORDS,
  to: string,
  { now, random }: CalendarParts['store'],
): string {
  const { iCalUID: uid, start, end, exceptionTo, recurrence, organizer, attendees, sequence } = event
  const summary = textOf(event, 'summary')
  return invitationMail(
    {
      uid,
      start,
      end,
      originalStart: exceptionTo?.start ?? null,
      recurrence,
      organizer: organizer.email,
      attendees: attendees.map(one => ({ email: one.email, partStat: PARTSTAT[one.responseStatus] })),
      summary,
      location: textOf(event, 'location'),
      description: textOf(event, 'description'),
      sequence,
      status: method === 'CANCEL' ? 'CANCELLED' : event.status.toUpperCase(),
    },
    {
      method,
      from: event.creator.email,
      to,
      subject: `${WORDS[method]}: ${summary}`,
      messageId: `calendar-${random.hex(16)}@google.com`,
      productId: '-//Google Inc//Google Calendar 70.9054//EN',
      at: now(),
    },
  )
}

const PARTSTAT = {
  needsAction: 'NEEDS-ACTION',
  accepted: 'ACCEPTED',
  declined: 'DECLINED',
  tentative: 'TENTATIVE',
} as const

const textOf = ({ contents }: StoredEvent, name: string): string => {
  const text = contents[name]
  return typeof text === 'string' ? text : ''
}
