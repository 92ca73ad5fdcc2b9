/** A mail about an event, as programs write it (RFC 6047). */
export interface MailedLines {
  method: 'REQUEST' | 'CANCEL' | 'REPLY' | 'ADD' | 'COUNTER'
  organizer: string
  attendee: string
  /** The author of the mail; by default the organizer. */
  from?: string
  uid: string
  /** A wall clock in UTC. */
  start: string
  subject: string
  sequence?: number
  /** The minute of its DTSTAMP. */
  minute: number
  /** PARTSTAT. */
  status?: string
  more?: readonly string[]
  /** A text before the calendar object. */
  text?: string
  /** Whether a file comes first. */
  hasFile?: boolean
}

export function invitationMail(lines: MailedLines): string {
  const {
    method,
    attendee,
    organizer,
    from = organizer,
    subject,
    text = 'An invitation.',
    hasFile = false,
  } = lines
  const to = from === attendee ? organizer : attendee
  return [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${method} ${subject}`,
    `Message-ID: <${crypto.randomUUID()}@partner.example>`,
    'Date: Sun, 29 Nov 2026 10:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=outer',
    '',
    ...(hasFile
      ? ['--outer', 'Content-Type: application/pdf', 'Content-Disposition: attachment', '', 'agenda']
      : []),
    '--outer',
    'Content-Type: multipart/alternative; boundary=inner',
    '',
    '--inner',
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
    '--inner',
    `Content-Type: text/calendar; method=${method}; charset=utf-8`,
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(calendarObject(lines)).toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
    '--inner--',
    '--outer',
    'Content-Type: application/ics; name=invite.ics',
    'Content-Disposition: attachment; filename=invite.ics',
    '',
    'BEGIN:VCALENDAR',
    '--outer--',
    '',
  ].join('\r\n')
}

function calendarObject({
  method,
  organizer,
  attendee,
  uid,
  start,
  subject,
  sequence = 0,
  minute,
  status = 'NEEDS-ACTION',
  more = [],
}: MailedLines): string {
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//partner//EN',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    `UID:${uid}`,
    `DTSTAMP:20261129T10${minute}00Z`,
    `SEQUENCE:${sequence}`,
    `DTSTART:${start}`,
    'DURATION:PT1H',
    `SUMMARY:${subject}`,
    `ORGANIZER:mailto:${organizer}`,
    `ATTENDEE;PARTSTAT=${status}:mailto:${attendee}`,
    ...more,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n')
}
