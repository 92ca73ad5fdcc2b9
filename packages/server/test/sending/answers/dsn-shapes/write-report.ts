/*
 * Reports of mail that was not delivered, in the shapes that programs give them, in words of our own. Each is about one
 * message to grace@example.org (and others), and says what should be read from it.
 */

export interface ReportedSend {
  messageId: string
  outboxId: string
  sender: string
}

export interface DsnShape {
  name: string
  write(send: ReportedSend): string
  /** A line for each recipient that failed: address, type, status, and `suppressed` if it does not exist. */
  expected: readonly string[]
}

export const GRACE = 'grace@example.org'
export const GONE = ['grace@example.org hard 5.1.1 suppressed']

interface ReportOptions {
  from?: string
  subject?: string
  text?: string
  fields?: readonly string[]
  perMessage?: readonly string[]
  recipients?: readonly string[]
  returned?: 'headers' | 'message' | 'global' | 'none'
  type?: string
  statusType?: string
  statusEncoding?: 'base64' | 'quoted-printable'
  boundary?: string
}

export const HEADER = ({ messageId, outboxId, sender }: ReportedSend, names = { id: true, outbox: true }) => [
  'Received: by relay.example.org; Tue, 10 Mar 2026 09:00:00 +0000',
  ...(names.outbox ? [`X-Waxwing-Outbox: ${outboxId}`] : []),
  `From: Ada Lovelace <${sender}>`,
  `To: ${GRACE}`,
  'Subject: The quarterly figures',
  ...(names.id ? [`Message-ID: ${messageId}`] : []),
  'MIME-Version: 1.0',
]

export const lines = (...parts: ReadonlyArray<string | readonly string[]>) => parts.flat().join('\r\n')

export function encode(text: string, encoding: ReportOptions['statusEncoding']): string {
  if (encoding === 'base64') return Buffer.from(text).toString('base64').replaceAll(/.{76}/g, '$&\r\n')
  if (encoding === 'quoted-printable') return text.replaceAll('=', '=3D').replaceAll(/(.{60})/g, '$1=\r\n')
  return text
}

/** RFC 3464, with everything where it belongs unless the options move it. */
export const report =
  (options: ReportOptions) =>
  (send: ReportedSend): string => {
    const {
      from = 'Mail Delivery System <MAILER-DAEMON@mx.example.org>',
      subject = 'Undelivered Mail Returned to Sender',
      text = 'This is the mail system at host mx.example.org. Your message was not delivered.',
      fields = ['Auto-Submitted: auto-replied'],
      perMessage = ['Reporting-MTA: dns; mx.example.org'],
      recipients = [failed()],
      returned = 'headers',
      type = 'multipart/report; report-type=delivery-status',
      statusType = 'message/delivery-status',
      statusEncoding,
      boundary = 'A1B2C3/mx.example.org',
    } = options
    const status = lines(perMessage, '', recipients.join('\r\n\r\n'), '')
    return lines(
      'Return-Path: <>',
      `From: ${from}`,
      `To: ${send.sender}`,
      `Subject: ${subject}`,
      'Message-ID: <report-1@mx.example.org>',
      'Date: Tue, 10 Mar 2026 09:00:05 +0000',
      fields,
      'MIME-Version: 1.0',
      `Content-Type: ${type}; boundary="${boundary}"`,
      '',
      'This is a MIME-encapsulated message.',
      '',
      `--${boundary}`,
      'Content-Type: text/plain; charset=utf-8',
      '',
      text,
      '',
      `--${boundary}`,
      `Content-Type: ${statusType}`,
      ...(statusEncoding ? [`Content-Transfer-Encoding: ${statusEncoding}`] : []),
      '',
      encode(status, statusEncoding),
      ...enclosed(send, returned, boundary),
      `--${boundary}--`,
      '',
    )
  }

export function enclosed(
  send: ReportedSend,
  returned: ReportOptions['returned'],
  boundary: string,
): string[] {
  if (returned === 'none') return []
  const types = { headers: 'text/rfc822-headers', message: 'message/rfc822', global: 'message/global' }
  return [
    `--${boundary}`,
    `Content-Type: ${types[returned ?? 'headers']}`,
    '',
    ...HEADER(send),
    '',
    'The text.',
    '',
  ]
}

export function failed({
  address = GRACE,
  original = address as string | null,
  action = 'failed' as string | null,
  status = '5.1.1' as string | null,
  diagnostic = 'smtp; 550 5.1.1 <grace@example.org>: Recipient address rejected: User unknown' as
    | string
    | null,
  more = [] as readonly string[],
} = {}): string {
  return lines(
    ...(original === null ? [] : [`Original-Recipient: rfc822;${original}`]),
    `Final-Recipient: rfc822; ${address}`,
    ...(action === null ? [] : [`Action: ${action}`]),
    ...(status === null ? [] : [`Status: ${status}`]),
    ...(diagnostic === null ? [] : [`Diagnostic-Code: ${diagnostic}`]),
    more,
  )
}

interface PlainOptions {
  from?: string
  subject?: string
  fields?: readonly string[]
  contentType?: string
  text(send: ReportedSend): readonly string[]
  /** Lines of the message that the text repeats. */
  copy?: (send: ReportedSend) => readonly string[]
}

/** A report in words only. */
export const plain =
  ({
    from = 'MAILER-DAEMON@mx.example.org',
    subject = 'failure notice',
    fields = [],
    ...options
  }: PlainOptions) =>
  (send: ReportedSend): string =>
    lines(
      'Return-Path: <>',
      `From: ${from}`,
      `To: ${send.sender}`,
      `Subject: ${subject}`,
      'Date: Tue, 10 Mar 2026 09:00:05 +0000',
      fields,
      'MIME-Version: 1.0',
      `Content-Type: ${options.contentType ?? 'text/plain; charset=utf-8'}`,
      'Content-Transfer-Encoding: 8bit',
      '',
      options.text(send),
      '',
      options.copy?.(send) ?? ['--- Below this line is a copy of the message.', '', ...HEADER(send)],
      '',
    )

export const soft = (status: string) => [`${GRACE} soft ${status}`]
export const exchangeFields = ({ messageId }: ReportedSend) => [
  `In-Reply-To: ${messageId}`,
  `References: ${messageId}`,
]
