import { type DsnShape, failed, GONE, GRACE, lines, report, soft } from './write-report.ts'

/** Reports as the standards have them, and what servers make of them. */
export const STANDARD_SHAPES: readonly DsnShape[] = [
  { name: 'RFC 3464 with the header', write: report({}), expected: GONE },
  { name: 'RFC 3464 with the whole message', write: report({ returned: 'message' }), expected: GONE },
  {
    name: 'RFC 3464 with nothing returned, known by ENVID',
    write: send =>
      report({
        returned: 'none',
        perMessage: ['Reporting-MTA: dns; mx.example.org', `Original-Envelope-Id: ${send.outboxId}`],
      })(send),
    expected: GONE,
  },
  {
    name: 'RFC 3464 of several recipients, of which one was delayed and one relayed',
    write: report({
      recipients: [
        failed(),
        failed({ address: 'max@example.org', status: '5.2.2', diagnostic: 'smtp; 552 5.2.2 Mailbox full' }),
        failed({ address: 'late@example.org', action: 'delayed', status: '4.4.1', diagnostic: null }),
        failed({ address: 'other@example.org', action: 'relayed', status: '2.0.0', diagnostic: null }),
      ],
    }),
    expected: [...GONE, 'max@example.org soft 5.2.2'],
  },
  {
    name: 'two parts message/delivery-status',
    write: send =>
      report({})(send).replace(
        '\r\n--A1B2C3/mx.example.org\r\nContent-Type: text/rfc822-headers',
        lines(
          '',
          '--A1B2C3/mx.example.org',
          'Content-Type: message/delivery-status',
          '',
          'Reporting-MTA: dns; second.example.org',
          '',
          failed({ address: 'max@example.org' }),
          '',
          '--A1B2C3/mx.example.org',
          'Content-Type: text/rfc822-headers',
        ),
      ),
    expected: [...GONE, 'max@example.org hard 5.1.1 suppressed'],
  },
  { name: 'a status in base64', write: report({ statusEncoding: 'base64' }), expected: GONE },
  {
    name: 'a status in quoted-printable',
    write: report({ statusEncoding: 'quoted-printable' }),
    expected: GONE,
  },
  {
    name: 'RFC 6533 with UTF-8 addresses',
    write: report({
      statusType: 'message/global-delivery-status',
      returned: 'global',
      recipients: [
        lines(
          'Original-Recipient: utf-8; j\\x{FC}rgen@example.org',
          'Final-Recipient: utf-8; jürgen@example.org',
          'Action: failed',
          'Status: 5.1.1',
        ),
      ],
    }),
    expected: ['jürgen@example.org hard 5.1.1 suppressed'],
  },
  {
    name: 'a forwarded address, with the original as xtext',
    write: report({
      recipients: [failed({ address: 'g.hopper@forward.example.net', original: 'grace+2Btag@example.org' })],
    }),
    expected: ['grace+tag@example.org hard 5.1.1 suppressed'],
  },
  {
    name: 'an address in angle brackets and capitals',
    write: report({ recipients: [failed({ address: '<Grace@Example.ORG>', original: null })] }),
    expected: GONE,
  },
  {
    name: 'no action, a status of class 5',
    write: report({ recipients: [failed({ action: null })] }),
    expected: GONE,
  },
  {
    name: 'an action with a comment',
    write: report({ recipients: [failed({ action: 'Failed (permanently)' })] }),
    expected: GONE,
  },
  {
    name: 'no status, but a diagnostic with one',
    write: report({ recipients: [failed({ status: null })] }),
    expected: GONE,
  },
  {
    name: 'a vague status and a precise diagnostic',
    write: report({ recipients: [failed({ status: '5.0.0' })] }),
    expected: GONE,
  },
  {
    name: 'a vague status, and words that say that nobody is there',
    write: report({ recipients: [failed({ status: '5.0.0', diagnostic: 'smtp; 550 No such user here' })] }),
    expected: GONE,
  },
  {
    name: 'a vague status, and words that say nothing',
    write: report({ recipients: [failed({ status: '5.0.0', diagnostic: 'smtp; 554 Transaction failed' })] }),
    expected: soft('5.0.0'),
  },
  {
    name: 'a status with a comment',
    write: report({ recipients: [failed({ status: '5.1.1 (bad destination mailbox address)' })] }),
    expected: GONE,
  },
  {
    name: 'a folded diagnostic',
    write: report({
      recipients: [
        failed({
          status: '5.0.0',
          diagnostic:
            'smtp; 550-5.1.1 The address that you\r\n    wrote to does not exist.\r\n    550 5.1.1 Try again',
        }),
      ],
    }),
    expected: GONE,
  },
  {
    name: 'bare line feeds',
    write: send => report({})(send).replaceAll('\r\n', '\n'),
    expected: GONE,
  },
  {
    name: 'Postfix: a full mailbox',
    write: report({
      recipients: [
        failed({
          status: '5.2.2',
          diagnostic: 'smtp; 552 5.2.2 <grace@example.org>: Quota exceeded (mailbox for user is full)',
        }),
      ],
    }),
    expected: soft('5.2.2'),
  },
  {
    name: 'Postfix: gave up after days',
    write: report({
      recipients: [
        failed({
          status: '4.4.1',
          diagnostic: 'X-Postfix; connect to mx.example.org[192.0.2.1]:25: Connection timed out',
        }),
      ],
    }),
    expected: soft('4.4.1'),
  },
  {
    name: 'Postfix: a domain that does not exist',
    write: report({
      recipients: [
        failed({
          status: '5.4.4',
          diagnostic:
            'X-Postfix; Host or domain name not found. Name service error for name=example.org type=A: Host not found',
        }),
      ],
    }),
    expected: [`${GRACE} hard 5.4.4`],
  },
  {
    name: 'Postfix: a domain that takes no mail (RFC 7505)',
    write: report({
      recipients: [
        failed({
          status: '5.1.10',
          diagnostic: 'X-Postfix; Domain example.org does not accept mail (nullMX)',
        }),
      ],
    }),
    expected: [`${GRACE} hard 5.1.10 suppressed`],
  },
  {
    name: 'Postfix: a warning of a delay',
    write: report({
      subject: 'Delayed Mail (still being retried)',
      text: 'THIS IS A WARNING ONLY. YOU DO NOT NEED TO RESEND YOUR MESSAGE.',
      recipients: [
        failed({
          action: 'delayed',
          status: '4.4.1',
          diagnostic: null,
          more: ['Will-Retry-Until: Sun, 15 Mar 2026 09:00:00 +0000'],
        }),
      ],
    }),
    expected: [],
  },
  {
    name: 'a report that it was delivered',
    write: report({
      subject: 'Successful Mail Delivery Report',
      recipients: [failed({ action: 'delivered', status: '2.1.5', diagnostic: null })],
    }),
    expected: [],
  },
  {
    name: 'a list that was expanded',
    write: report({ recipients: [failed({ action: 'expanded', status: '2.0.0', diagnostic: null })] }),
    expected: [],
  },
  {
    name: 'refused as spam',
    write: report({
      recipients: [
        failed({
          status: '5.7.1',
          diagnostic: 'smtp; 550 5.7.1 Message rejected as spam by Content Filtering',
        }),
      ],
    }),
    expected: soft('5.7.1'),
  },
  {
    name: 'refused by reputation under a code that says that nobody is there',
    write: report({
      recipients: [
        failed({ diagnostic: 'smtp; 550 5.1.1 Your host is on a blocklist, see https://bl.example.net' }),
      ],
    }),
    expected: soft('5.1.1'),
  },
  {
    name: 'a disabled mailbox',
    write: report({
      recipients: [
        failed({
          status: '5.2.1',
          diagnostic: 'smtp; 550 5.2.1 The account that you tried to reach is disabled.',
        }),
      ],
    }),
    expected: [`${GRACE} hard 5.2.1`],
  },
  {
    name: 'too large for the recipient',
    write: report({
      recipients: [
        failed({ status: '5.3.4', diagnostic: 'smtp; 552 5.3.4 Message size exceeds fixed limit' }),
      ],
    }),
    expected: soft('5.3.4'),
  },
  {
    name: 'a mailbox that moved',
    write: report({
      recipients: [failed({ status: '5.1.6', diagnostic: 'smtp; 551 5.1.6 User has moved' })],
    }),
    expected: [`${GRACE} hard 5.1.6 suppressed`],
  },
]
