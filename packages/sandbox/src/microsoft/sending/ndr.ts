import { writeWords } from '../../mail/addresses.ts'
import { dateText } from '../../mail/message-headers.ts'
import type { Message } from '../mailbox/message.ts'

/** Name and address by which Exchange reports what it could not deliver. */
const SYSTEM = { name: 'Microsoft Outlook', local: 'MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e' }

/** Whether Exchange itself made this report. Such a report did not come by SMTP, so Graph shows no headers of it. */
export const isOwnReport = ({ messageClass, from }: Pick<Message, 'messageClass' | 'from'>): boolean =>
  messageClass === 'REPORT.IPM.Note.NDR' && (from?.address.startsWith(`${SYSTEM.local}@`) ?? false)

export interface Undelivered {
  /** Address of the sender, who gets the report. */
  readonly sender: string
  readonly recipient: string
  readonly subject: string
  /** Message-ID with angle brackets; empty if the message has none. */
  readonly messageId: string
  /** The message as it was sent. */
  readonly sent: Buffer
  readonly at: number
  readonly unique: string
}

/** Exchange's report that an address does not exist (RFC 3464), as its `$value` gives it. */
export function writeNdr({ sender, recipient, subject, messageId, sent, at, unique }: Undelivered): Buffer {
  const boundary = `_000_${unique}_`
  const domain = sender.slice(sender.indexOf('@') + 1)
  const server = `${unique.slice(0, 12)}.eurprd01.prod.outlook.com`
  const headersEnd = sent.indexOf('\r\n\r\n')
  const lines = [
    `From: ${SYSTEM.name} <${SYSTEM.local}@${domain}>`,
    `To: <${sender}>`,
    `Date: ${dateText(at)}`,
    `Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary="${boundary}"`,
    `Content-Language: en-US`,
    `Message-ID: <${unique.toLowerCase()}@${server}>`,
    ...(messageId ? [`In-Reply-To: ${messageId}`, `References: ${messageId}`] : []),
    `Subject: ${writeWords(`Undeliverable: ${subject}`)}`,
    `Auto-Submitted: auto-replied`,
    `X-MS-Exchange-Message-Is-Ndr:`,
    `MIME-Version: 1.0`,
    ``,
    `--${boundary}`,
    `Content-Type: text/plain; charset="utf-8"`,
    `Content-Transfer-Encoding: 8bit`,
    ``,
    `Your message to ${recipient} couldn't be delivered.`,
    ``,
    `${recipient.split('@')[0]} wasn't found at ${recipient.split('@')[1]}.`,
    ``,
    `--${boundary}`,
    `Content-Type: message/delivery-status`,
    ``,
    `Reporting-MTA: dns;${server}`,
    `Received-From-MTA: dns;${server}`,
    `Arrival-Date: ${dateText(at)}`,
    ``,
    `Final-Recipient: rfc822;${recipient}`,
    `Action: failed`,
    `Status: 5.1.10`,
    `Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup`,
    ``,
    `--${boundary}`,
    `Content-Type: message/rfc822`,
    ``,
  ]
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n`),
    sent.subarray(0, headersEnd < 0 ? 0 : headersEnd + 4),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
}
