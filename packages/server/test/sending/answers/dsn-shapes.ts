import { DAEMON_SHAPES } from './dsn-shapes/daemons.ts'
import { LANGUAGE_SHAPES } from './dsn-shapes/languages.ts'
import { PROGRAM_SHAPES } from './dsn-shapes/programs.ts'
import { STANDARD_SHAPES } from './dsn-shapes/standard.ts'
import { type DsnShape, type ReportedSend, lines, report } from './dsn-shapes/write-report.ts'

export type { ReportedSend }

export const DSN_SHAPES: readonly DsnShape[] = [
  ...STANDARD_SHAPES,
  ...PROGRAM_SHAPES,
  ...DAEMON_SHAPES,
  ...LANGUAGE_SHAPES,
]

/** A reply that its author's program wrote. */
const automatic =
  (from: string, ...text: readonly string[]) =>
  ({ sender, messageId }: ReportedSend) =>
    lines(
      'Return-Path: <>',
      `From: ${from}`,
      `To: ${sender}`,
      'Subject: Automatic reply: The quarterly figures',
      `In-Reply-To: ${messageId}`,
      'Auto-Submitted: auto-replied',
      '',
      text,
    )

/** Mail that is no report of a failure, whatever it looks like. */
export const NO_REPORTS: ReadonlyArray<{ name: string; write(send: ReportedSend): string }> = [
  {
    name: 'a person who asks about a failure',
    write: ({ sender, messageId }) =>
      lines(
        'From: Grace <grace@example.org>',
        `To: ${sender}`,
        'Subject: Re: Undelivered mail',
        `In-Reply-To: ${messageId}`,
        '',
        'Your mail could not be delivered to max@example.org: 550 5.1.1 User unknown.',
        'Can you look?',
      ),
  },
  {
    name: 'a person who forwards a report as an attachment',
    write: send =>
      lines(
        'From: Grace <grace@example.org>',
        `To: ${send.sender}`,
        'Subject: Fwd: Undelivered Mail Returned to Sender',
        'Content-Type: multipart/mixed; boundary=fwd',
        '',
        '--fwd',
        '',
        'See below.',
        '--fwd',
        'Content-Type: message/rfc822',
        '',
        report({})(send),
        '--fwd--',
      ),
  },
  {
    name: 'a person who sends a status part in multipart/mixed',
    write: send =>
      report({ type: 'multipart/mixed', fields: [], from: 'Grace <grace@example.org>' })(send).replace(
        'Return-Path: <>\r\n',
        '',
      ),
  },
  {
    name: 'an out-of-office reply',
    write: ({ sender, messageId }) =>
      lines(
        'From: Grace <grace@example.org>',
        `To: ${sender}`,
        'Subject: Automatic reply: The quarterly figures',
        `In-Reply-To: ${messageId}`,
        'Auto-Submitted: auto-replied',
        '',
        'I am out of the office. Please write to max@example.org.',
      ),
  },
  {
    name: 'an automatic reply of somebody who has left',
    write: automatic(
      'Grace <grace@example.org>',
      'grace@example.org - this address no longer accepts mail. Your message was not delivered.',
      'Write to max@example.org.',
    ),
  },
  {
    name: 'an automatic reply from a domain that is named like a mail system',
    write: automatic(
      'Grace <grace@postmaster.example>',
      'Your message was not delivered. grace@example.org: no such user.',
    ),
  },
  {
    name: 'the acknowledgement of a help desk',
    write: automatic(
      'Help desk <grace@example.org>',
      'We got your request. Mail with attachments over 10 MB is rejected.',
      'Write to grace@example.org or max@example.org. Error 550 5.1.1 means that a user is unknown.',
    ),
  },
  {
    name: 'a receipt that it was read (RFC 8098)',
    write: ({ sender, messageId }) =>
      lines(
        'From: Grace <grace@example.org>',
        `To: ${sender}`,
        'Subject: Read: The quarterly figures',
        'Content-Type: multipart/report; report-type=disposition-notification; boundary=mdn',
        '',
        '--mdn',
        '',
        'It was displayed.',
        '--mdn',
        'Content-Type: message/disposition-notification',
        '',
        'Final-Recipient: rfc822; grace@example.org',
        `Original-Message-ID: ${messageId}`,
        'Disposition: manual-action/MDN-sent-manually; displayed',
        '',
        '--mdn--',
      ),
  },
]
