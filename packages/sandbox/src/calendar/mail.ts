import { dateText } from '../mail/message-headers.ts'
import { sharedText } from './invitations.ts'
import type { CalendarParts } from './parts.ts'
import type { StoredEvent } from './store/calendars.ts'
import { basicText, basicUtc, type Moment, wallOf } from './store/times.ts'

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
    const message = user && Buffer.from(mailOf(event, method, user.email, store.now(), store.random.hex(16)))
    if (user && message) post.deliver(user, { message, from: event.creator.email })
  }
}

const WORDS = { REQUEST: 'Invitation', CANCEL: 'Canceled event' } as const

function mailOf(event: StoredEvent, method: keyof typeof WORDS, to: string, now: number, id: string): string {
  const summary = textOf(event, 'summary')
  return [
    'MIME-Version: 1.0',
    `From: ${event.creator.email}`,
    `To: ${to}`,
    `Subject: =?UTF-8?B?${Buffer.from(`${WORDS[method]}: ${summary}`).toString('base64')}?=`,
    `Message-ID: <calendar-${id}@google.com>`,
    `Date: ${dateText(now)}`,
    'Content-Type: multipart/alternative; boundary="calendar"',
    '',
    '--calendar',
    'Content-Type: text/plain; charset="UTF-8"',
    'Content-Transfer-Encoding: 8bit',
    '',
    `${WORDS[method]}: ${summary}`,
    '--calendar',
    `Content-Type: text/calendar; charset="UTF-8"; method=${method}`,
    'Content-Transfer-Encoding: 8bit',
    '',
    ...icsOf(event, method, now).flatMap(folded),
    '--calendar--',
    '',
  ].join('\r\n')
}

function icsOf(event: StoredEvent, method: string, now: number): string[] {
  const { start, end, exceptionTo, recurrence, organizer, attendees } = event
  return [
    'BEGIN:VCALENDAR',
    'PRODID:-//Google Inc//Google Calendar 70.9054//EN',
    'VERSION:2.0',
    'CALSCALE:GREGORIAN',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    `DTSTART${timeText(start)}`,
    `DTEND${timeText(end)}`,
    `DTSTAMP:${basicUtc(now)}`,
    ...recurrence,
    ...(exceptionTo ? [`RECURRENCE-ID${timeText(exceptionTo.start)}`] : []),
    `ORGANIZER:mailto:${organizer.email}`,
    `UID:${event.iCalUID}`,
    ...attendees.map(
      ({ email, responseStatus }) =>
        `ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=${PARTSTAT[responseStatus]};RSVP=TRUE:mailto:${email}`,
    ),
    `SUMMARY:${escaped(textOf(event, 'summary'))}`,
    `LOCATION:${escaped(textOf(event, 'location'))}`,
    `DESCRIPTION:${escaped(textOf(event, 'description'))}`,
    `SEQUENCE:${event.sequence}`,
    `STATUS:${method === 'CANCEL' ? 'CANCELLED' : event.status.toUpperCase()}`,
    'END:VEVENT',
    'END:VCALENDAR',
  ]
}

const PARTSTAT = {
  needsAction: 'NEEDS-ACTION',
  accepted: 'ACCEPTED',
  declined: 'DECLINED',
  tentative: 'TENTATIVE',
} as const

/** A series keeps its wall clock, so its times name their zone; IANA names need no definition at the readers here. */
function timeText(moment: Moment): string {
  if ('day' in moment) return `;VALUE=DATE:${basicText(moment)}`
  return `;TZID=${moment.zone}:${basicUtc(wallOf(moment)).slice(0, -1)}`
}

const textOf = ({ contents }: StoredEvent, name: string): string => {
  const text = contents[name]
  return typeof text === 'string' ? text : ''
}

const escaped = (text: string): string =>
  text.replaceAll(/[\\;,]/g, String.raw`\$&`).replaceAll(/\r?\n/g, String.raw`\n`)

const folded = (line: string): string[] =>
  (line.match(/.{1,60}/gsu) ?? []).map((part, at) => (at === 0 ? part : ` ${part}`))
