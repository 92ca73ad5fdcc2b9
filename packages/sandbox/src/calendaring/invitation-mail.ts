import { dateText } from '../mail/message-headers.ts'
import { basicText, basicUtc, type Moment, wallOf } from './moments.ts'

export type Method = 'REQUEST' | 'CANCEL' | 'REPLY'
export type PartStat = 'NEEDS-ACTION' | 'ACCEPTED' | 'DECLINED' | 'TENTATIVE'

/** The event that a mail is about, with the fields that its mail shows. */
export interface MailedEvent {
  readonly uid: string
  readonly start: Moment
  readonly end: Moment
  /** The start that the rule gives a member of a series; null for the others. */
  readonly originalStart: Moment | null
  /** Lines of iCalendar. */
  readonly recurrence: readonly string[]
  readonly organizer: string
  readonly attendees: readonly { readonly email: string; readonly partStat: PartStat }[]
  readonly summary: string
  readonly location: string
  readonly description: string
  readonly sequence: number
  readonly status: string
}

/** Sender, recipient and words of a mail about an event. */
export interface Envelope {
  readonly method: Method
  readonly from: string
  readonly to: string
  readonly subject: string
  /** Without angle brackets. */
  readonly messageId: string
  readonly productId: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Writes a mail about an event (RFC 6047). */
export function invitationMail(event: MailedEvent, envelope: Envelope): string {
  const { method, from, to, subject, messageId, at } = envelope
  return [
    'MIME-Version: 1.0',
    `From: ${from}`,
    `To: ${to}`,
    `Subject: =?UTF-8?B?${Buffer.from(subject).toString('base64')}?=`,
    `Message-ID: <${messageId}>`,
    `Date: ${dateText(at)}`,
    'Content-Type: multipart/alternative; boundary="calendar"',
    '',
    '--calendar',
    'Content-Type: text/plain; charset="UTF-8"',
    'Content-Transfer-Encoding: 8bit',
    '',
    subject,
    '--calendar',
    `Content-Type: text/calendar; charset="UTF-8"; method=${method}`,
    'Content-Transfer-Encoding: 8bit',
    '',
    ...icsOf(event, envelope).flatMap(folded),
    '--calendar--',
    '',
  ].join('\r\n')
}

function icsOf(event: MailedEvent, { method, productId, at }: Envelope): string[] {
  const { start, end, originalStart, recurrence, attendees } = event
  return [
    'BEGIN:VCALENDAR',
    `PRODID:${productId}`,
    'VERSION:2.0',
    'CALSCALE:GREGORIAN',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    `DTSTART${timeText(start)}`,
    `DTEND${timeText(end)}`,
    `DTSTAMP:${basicUtc(at)}`,
    ...recurrence,
    ...(originalStart ? [`RECURRENCE-ID${timeText(originalStart)}`] : []),
    `ORGANIZER:mailto:${event.organizer}`,
    `UID:${event.uid}`,
    ...attendees.map(
      ({ email, partStat }) =>
        `ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=${partStat};RSVP=TRUE:mailto:${email}`,
    ),
    `SUMMARY:${escaped(event.summary)}`,
    `LOCATION:${escaped(event.location)}`,
    `DESCRIPTION:${escaped(event.description)}`,
    `SEQUENCE:${event.sequence}`,
    `STATUS:${event.status}`,
    'END:VEVENT',
    'END:VCALENDAR',
  ]
}

/** A series keeps its wall clock, so its times name their zone; IANA names need no definition at the readers here. */
function timeText(moment: Moment): string {
  if ('day' in moment) return `;VALUE=DATE:${basicText(moment)}`
  return `;TZID=${moment.zone}:${basicUtc(wallOf(moment)).slice(0, -1)}`
}

const escaped = (text: string): string =>
  text.replaceAll(/[\\;,]/g, String.raw`\$&`).replaceAll(/\r?\n/g, String.raw`\n`)

const folded = (line: string): string[] =>
  (line.match(/.{1,60}/gsu) ?? []).map((part, at) => (at === 0 ? part : ` ${part}`))
