import { dateText } from '../../mail/message-headers.ts'
import type { Outgoing } from './outgoing.ts'

const DAEMON = 'mailer-daemon@googlemail.com'

/** The notice that an address does not exist (RFC 3464). */
export function bounceOf(outgoing: Outgoing, recipient: string, messageId: string, now: number): Buffer {
  const boundary = `bounce-${now.toString(36)}`
  const headersEnd = outgoing.sent.indexOf('\r\n\r\n')
  const original = outgoing.sent.subarray(0, headersEnd < 0 ? 0 : headersEnd).toString('latin1')
  const lines = [
    `Return-Path: <>`,
    `From: Mail Delivery Subsystem <${DAEMON}>`,
    `To: ${outgoing.from}`,
    `Auto-Submitted: auto-replied`,
    `Subject: Delivery Status Notification (Failure)`,
    `Message-ID: <${now.toString(36)}.${Buffer.from(recipient).toString('hex').slice(0, 24)}.GMR@mx.google.com>`,
    `Date: ${dateText(now)}`,
    ...(messageId ? [`References: ${messageId}`, `In-Reply-To: ${messageId}`] : []),
    `X-Failed-Recipients: ${recipient}`,
    `MIME-Version: 1.0`,
    `Content-Type: multipart/report; boundary="${boundary}"; report-type=delivery-status`,
    ``,
    `--${boundary}`,
    `Content-Type: text/plain; charset="UTF-8"`,
    ``,
    `Address not found: your message wasn't delivered to ${recipient} because the address couldn't be found.`,
    ``,
    `--${boundary}`,
    `Content-Type: message/delivery-status`,
    ``,
    `Reporting-MTA: dns; googlemail.com`,
    `Arrival-Date: ${dateText(now)}`,
    ...(messageId ? [`X-Original-Message-ID: ${messageId}`] : []),
    ``,
    `Final-Recipient: rfc822; ${recipient}`,
    `Action: failed`,
    `Status: 5.1.1`,
    `Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist.`,
    ``,
    `--${boundary}`,
    `Content-Type: text/rfc822-headers`,
    ``,
    original,
    ``,
    `--${boundary}--`,
    ``,
  ]
  return Buffer.from(lines.join('\r\n'), 'latin1')
}
