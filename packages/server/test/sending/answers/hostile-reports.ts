import type { ReportedSend } from './dsn-shapes.ts'

/* Reports made to overload their reader, or to make it believe what is not so. */

const MEGABYTE = 1024 * 1024

const head = (send: ReportedSend, fields: readonly string[] = []) => [
  'Return-Path: <>',
  'From: MAILER-DAEMON@mx.example.org',
  `To: ${send.sender}`,
  'Subject: Undelivered Mail',
  ...fields,
]

const typed = (boundary: string) =>
  `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`

const group = (address: string) =>
  `Final-Recipient: rfc822; ${address}\r\nAction: failed\r\nStatus: 5.1.1\r\n`

function report(send: ReportedSend, parts: readonly string[], boundary = 'b'): string {
  const returned = `Content-Type: text/rfc822-headers\r\n\r\nMessage-ID: ${send.messageId}\r\n`
  return [
    ...head(send, [typed(boundary)]),
    '',
    ...[...parts, returned].map(part => `--${boundary}\r\n${part}`),
    `--${boundary}--`,
    '',
  ].join('\r\n')
}

const status = (groups: string) =>
  `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.org\r\n\r\n${groups}`

/** Each costs its bound, and is about nobody to whom the message was sent. */
export const HOSTILE_REPORTS: ReadonlyArray<{ name: string; write(send: ReportedSend): string }> = [
  {
    name: '1,000 parts',
    write: send =>
      report(
        send,
        Array.from({ length: 1_000 }, (_, n) => `X: ${n}\r\n\r\n${n}\r\n`),
      ),
  },
  {
    name: '1,000 status parts',
    write: send =>
      report(
        send,
        Array.from({ length: 1_000 }, (_, n) => status(group(`x${n}@example.net`))),
      ),
  },
  {
    name: '100,000 recipients in one status part',
    write: send =>
      report(send, [
        status(Array.from({ length: 100_000 }, (_, n) => group(`x${n}@example.net`)).join('\r\n')),
      ]),
  },
  {
    name: 'a header of 10 MB in one field',
    write: send => [...head(send), `X-Long: ${'a'.repeat(10 * MEGABYTE)}`, typed('b'), '', ''].join('\r\n'),
  },
  {
    name: 'a header of 10 MB in short fields',
    write: send => [...head(send), 'X-Short: a\r\n'.repeat(800_000), typed('b'), '', ''].join('\r\n'),
  },
  {
    name: 'a folded field of 2 MB',
    write: send => [...head(send), `X-Folded: a${'\r\n a'.repeat(500_000)}`, '', ''].join('\r\n'),
  },
  {
    name: 'a boundary that never comes',
    write: send => [...head(send), typed('never'), '', '-'.repeat(2 * MEGABYTE)].join('\r\n'),
  },
  {
    name: 'a boundary that ends at once',
    write: send =>
      [...head(send), typed('b'), '', '--b--', status(group('grace@example.net')), ''].join('\r\n'),
  },
  {
    name: 'a boundary inside another',
    write: send =>
      report(send, [
        `Content-Type: multipart/mixed; boundary="b--"\r\n\r\n--b--\r\n${status(group('x@example.net'))}`,
      ]),
  },
  {
    name: '500 levels',
    write: send =>
      [
        ...head(send, [typed('b0')]),
        '',
        ...Array.from(
          { length: 500 },
          (_, n) => `--b${n}\r\nContent-Type: multipart/report; boundary="b${n + 1}"\r\n`,
        ),
        status(group('x@example.net')),
      ].join('\r\n'),
  },
  {
    name: 'messages within messages',
    write: send => report(send, ['Content-Type: message/rfc822\r\n\r\n'.repeat(5_000)]),
  },
  {
    name: 'Message-IDs without end',
    write: send =>
      [
        ...head(send, [`References: ${'<a@b.example> '.repeat(60_000)}`]),
        '',
        `Message-ID: ${'<'.repeat(500_000)}`,
      ].join('\r\n'),
  },
  {
    name: 'words that look like addresses',
    write: send =>
      [
        ...head(send),
        '',
        'could not be delivered to the following recipients',
        'a@'.repeat(300_000),
        '@a'.repeat(100_000),
      ].join('\r\n'),
  },
  {
    name: 'words that nearly say why',
    write: send =>
      [
        ...head(send),
        '',
        'delivery failed',
        'mailbox '.repeat(100_000),
        'x@example.net: 5.1.1 user unknow'.repeat(10_000),
      ].join('\r\n'),
  },
  ...[
    { name: 'a line of dashes', line: '-'.repeat(MEGABYTE) },
    { name: 'a line of dashes and spaces', line: '- '.repeat(MEGABYTE / 2) },
    { name: 'a line of spaces', line: ' '.repeat(MEGABYTE) },
  ].map(({ name, line }) => ({
    name,
    write: (send: ReportedSend) => [...head(send), '', 'delivery failed', line].join('\r\n'),
  })),
  {
    name: 'an action without end',
    write: send =>
      report(send, [
        status(
          `Final-Recipient: rfc822; x@example.net\r\nAction: ${'0'.repeat(60 * 1024)}\r0\r\n\r\n`.repeat(4),
        ),
      ]),
  },
  {
    name: 'as many groups as fit into each of many status parts',
    write: send => {
      const groups = Array.from({ length: 500 }, (_, n) => group(`x${n}@example.net`)).join('\r\n')
      return report(send, Array<string>(20).fill(status(groups)))
    },
  },
  {
    name: 'one address over and over',
    write: send => [...head(send), '', 'delivery failed', 'a@b.example '.repeat(2_000)].join('\r\n'),
  },
  {
    name: 'fields that name recipients without end',
    write: send =>
      [
        ...head(send),
        'X-Failed-Recipients: '.concat(
          Array.from({ length: 5_000 }, (_, n) => `x${n}@example.net`).join(','),
        ),
        '',
        'delivery failed',
      ].join('\r\n'),
  },
  {
    name: 'HTML without end',
    write: send =>
      [
        ...head(send, ['Content-Type: text/html']),
        '',
        '<blockquote>'.repeat(60_000),
        '<a href="'.repeat(20_000),
      ].join('\r\n'),
  },
  {
    name: 'NUL and lone surrogates',
    write: send =>
      report(send, [
        status(
          `Final-Recipient: rfc822; \0@example.net\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; \0\\x{D800}\r\n`,
        ),
      ]),
  },
]
