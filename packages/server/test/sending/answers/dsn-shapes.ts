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

const GRACE = 'grace@example.org'
const GONE = ['grace@example.org hard 5.1.1 suppressed']

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

const HEADER = ({ messageId, outboxId, sender }: ReportedSend, names = { id: true, outbox: true }) => [
  'Received: by relay.example.org; Tue, 10 Mar 2026 09:00:00 +0000',
  ...(names.outbox ? [`X-Waxwing-Outbox: ${outboxId}`] : []),
  `From: Ada Lovelace <${sender}>`,
  `To: ${GRACE}`,
  'Subject: The quarterly figures',
  ...(names.id ? [`Message-ID: ${messageId}`] : []),
  'MIME-Version: 1.0',
]

const lines = (...parts: ReadonlyArray<string | readonly string[]>) => parts.flat().join('\r\n')

function encode(text: string, encoding: ReportOptions['statusEncoding']): string {
  if (encoding === 'base64') return Buffer.from(text).toString('base64').replaceAll(/.{76}/g, '$&\r\n')
  if (encoding === 'quoted-printable') return text.replaceAll('=', '=3D').replaceAll(/(.{60})/g, '$1=\r\n')
  return text
}

/** RFC 3464, with everything where it belongs unless the options say otherwise. */
const report =
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

function enclosed(send: ReportedSend, returned: ReportOptions['returned'], boundary: string): string[] {
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

function failed({
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
  /** What the text repeats of the message. */
  copy?: (send: ReportedSend) => readonly string[]
}

/** A report in words only. */
const plain =
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

const soft = (status: string) => [`${GRACE} soft ${status}`]
const exchangeFields = ({ messageId }: ReportedSend) => [
  `In-Reply-To: ${messageId}`,
  `References: ${messageId}`,
]

export const DSN_SHAPES: readonly DsnShape[] = [
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
  {
    name: 'Exchange Online: not found',
    write: send =>
      report({
        from: 'postmaster@example.onmicrosoft.test',
        subject: 'Undeliverable: The quarterly figures',
        text: "Your message to grace@example.org couldn't be delivered. grace wasn't found at example.org.",
        fields: ['Auto-Submitted: auto-replied', 'X-MS-Exchange-Message-Is-Ndr:', ...exchangeFields(send)],
        perMessage: [
          'Reporting-MTA: dns;AM0PR01MB0001.example.test',
          'Received-From-MTA: dns;mail.example.com',
        ],
        recipients: [
          failed({
            original: null,
            status: '5.1.10',
            diagnostic:
              'smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient grace@example.org not found by SMTP address lookup',
            more: ['X-Display-Name: Grace'],
          }),
        ],
        returned: 'message',
      })(send),
    expected: [`${GRACE} hard 5.1.10 suppressed`],
  },
  {
    name: 'Exchange on premises: full, the display name in the way',
    write: report({
      from: 'Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@example.org>',
      subject: 'Undeliverable: The quarterly figures',
      recipients: [
        failed({
          status: '5.2.2',
          diagnostic: 'smtp;554-5.2.2 mailbox full; STOREDRV.Deliver: MapiExceptionShutoffQuotaExceeded',
        }),
      ],
    }),
    expected: soft('5.2.2'),
  },
  {
    name: 'Exchange: a sender who is not allowed',
    write: report({
      recipients: [
        failed({
          status: '5.7.133',
          diagnostic: 'smtp;550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required',
        }),
      ],
    }),
    expected: soft('5.7.133'),
  },
  {
    name: 'Exchange 5.5, in words',
    write: plain({
      from: 'System Administrator <postmaster@example.org>',
      subject: 'Undeliverable: The quarterly figures',
      text: () => [
        'Your message did not reach some or all of the intended recipients.',
        '',
        '      Subject:  The quarterly figures',
        '',
        'The following recipient(s) could not be reached:',
        '',
        "      'grace@example.org' on 10.03.2026 09:00",
        '            The e-mail account does not exist at the organization this message was sent to.',
        '            <mx.example.org #5.1.1>',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Gmail, RFC 3464',
    write: send =>
      report({
        from: 'Mail Delivery Subsystem <mailer-daemon@googlemail.example>',
        subject: 'Delivery Status Notification (Failure)',
        text: "** Address not found **\r\n\r\nYour message wasn't delivered to grace@example.org because the address couldn't be found.",
        fields: [
          'Auto-Submitted: auto-replied',
          'X-Failed-Recipients: grace@example.org',
          ...exchangeFields(send),
        ],
        recipients: [
          failed({
            original: null,
            status: '5.1.1',
            diagnostic: 'smtp; 550-5.1.1 The email account that you tried to reach does not exist.',
          }),
        ],
        returned: 'message',
      })(send),
    expected: GONE,
  },
  {
    name: 'Gmail of old, in words',
    write: plain({
      from: 'Mail Delivery Subsystem <mailer-daemon@googlemail.example>',
      subject: 'Delivery Status Notification (Failure)',
      fields: ['X-Failed-Recipients: grace@example.org'],
      text: () => [
        'Delivery to the following recipient failed permanently:',
        '',
        '     grace@example.org',
        '',
        'Technical details of permanent failure:',
        'The server answered: 550 550 5.1.1 <grace@example.org>: user lookup failed (state 14).',
        '',
      ],
      copy: send => ['----- Original message -----', '', ...HEADER(send)],
    }),
    expected: GONE,
  },
  {
    name: 'Gmail: a delay, in words',
    write: plain({
      subject: 'Delivery Status Notification (Delay)',
      fields: ['X-Failed-Recipients: grace@example.org'],
      text: () => [
        'This is an automatically generated Delivery Status Notification',
        'THIS IS A WARNING MESSAGE ONLY.',
        'Delivery to the following recipient has been delayed:',
        '',
        '     grace@example.org',
      ],
    }),
    expected: [],
  },
  {
    name: 'qmail',
    write: plain({
      text: () => [
        'Hi. This is the qmail-send program at mx.example.org.',
        "I'm afraid I wasn't able to deliver your message to the following addresses.",
        "This is a permanent error; I've given up. Sorry it didn't work out.",
        '',
        '<grace@example.org>:',
        'Sorry, no mailbox here by that name. (#5.1.1)',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'qmail of a remote host, two recipients',
    write: plain({
      text: () => [
        'Hi. This is the qmail-send program at mx.example.org.',
        '',
        '<grace@example.org>:',
        '192.0.2.7 does not like recipient.',
        'Remote host said: 550 5.1.1 User unknown',
        'Giving up on 192.0.2.7.',
        '',
        '<max@example.org>:',
        '192.0.2.7 failed after I sent the message.',
        'Remote host said: 552 5.2.2 mailbox full',
      ],
    }),
    expected: [...GONE, 'max@example.org soft 5.2.2'],
  },
  {
    name: 'Exim, in words with X-Failed-Recipients',
    write: plain({
      from: 'Mail Delivery System <Mailer-Daemon@mx.example.org>',
      subject: 'Mail delivery failed: returning message to sender',
      fields: ['X-Failed-Recipients: grace@example.org', 'Auto-Submitted: auto-replied'],
      text: () => [
        'This message was created automatically by mail delivery software.',
        '',
        'A message that you sent could not be delivered to one or more of its',
        'recipients. This is a permanent error. The following address(es) failed:',
        '',
        '  grace@example.org',
        '    Unrouteable address',
        '',
      ],
      copy: send => [
        '------ This is a copy of the message, including all the headers. ------',
        '',
        ...HEADER(send),
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Exim: a remote refusal',
    write: plain({
      from: 'Mail Delivery System <Mailer-Daemon@mx.example.org>',
      subject: 'Mail delivery failed: returning message to sender',
      text: () => [
        'A message that you sent could not be delivered to one or more of its recipients.',
        'The following address(es) failed:',
        '',
        '  grace@example.org',
        '    host mx.example.net [192.0.2.9]',
        '    SMTP error from remote mail server after RCPT TO:<grace@example.org>:',
        '    550 5.7.1 Service unavailable; client host blocked',
      ],
    }),
    expected: soft('5.7.1'),
  },
  {
    name: 'Exim: a warning of a delay',
    write: plain({
      subject: 'Warning: message 1tXyz delayed 24 hours',
      text: () => [
        'This message was created automatically by mail delivery software.',
        'A message that you sent has not yet been delivered to one or more of its',
        'recipients after more than 24 hours on the queue.',
        '  grace@example.org',
        'No action is required on your part. Delivery attempts will continue.',
      ],
    }),
    expected: [],
  },
  {
    name: 'Sendmail, in words',
    write: plain({
      from: 'Mail Delivery Subsystem <MAILER-DAEMON@mx.example.org>',
      subject: 'Returned mail: see transcript for details',
      text: () => [
        'The original message was received at Tue, 10 Mar 2026 09:00:00 GMT',
        '',
        '   ----- The following addresses had permanent fatal errors -----',
        '<grace@example.org>',
        '    (reason: 550 5.1.1 <grace@example.org>... User unknown)',
        '',
        '   ----- Transcript of session follows -----',
        '... while talking to mx.example.org.:',
        '>>> DATA',
        '<<< 550 5.1.1 <grace@example.org>... User unknown',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Sendmail, RFC 3464 with X-Actual-Recipient',
    write: report({
      recipients: [
        failed({
          address: 'grace@inner.example.org',
          original: null,
          more: ['X-Actual-Recipient: rfc822; grace@example.org'],
        }),
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Lotus Domino, in words',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'DELIVERY FAILURE: User grace (grace@example.org) not listed in Domino Directory',
      text: () => [
        'Your message',
        '',
        '  Subject: The quarterly figures',
        '',
        'was not delivered to:',
        '',
        '  grace@example.org',
        '',
        'because:',
        '',
        '  User grace (grace@example.org) not listed in Domino Directory',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Lotus Domino, RFC 3464 with a vague status',
    write: report({
      subject: 'DELIVERY FAILURE: User grace not listed in public Name & Address Book',
      recipients: [
        failed({
          status: '5.0.0',
          diagnostic: 'X-Notes; User grace (grace@example.org) not listed in public Name & Address Book',
        }),
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Yahoo',
    write: plain({
      from: 'MAILER-DAEMON@yahoo.example',
      subject: 'Failure Notice',
      text: () => [
        'Sorry, we were unable to deliver your message to the following address.',
        '',
        '<grace@example.org>:',
        "554: delivery error: dd This user doesn't have a yahoo.example account (grace@example.org) [0]",
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Mail.ru',
    write: plain({
      from: 'mailer-daemon@corp.mail.example',
      subject: 'Mail failure.',
      text: () => [
        'Это письмо создано автоматически почтовым сервером.',
        'К сожалению, Ваше письмо не может быть доставлено одному или нескольким получателям:',
        '',
        '**********************',
        'grace@example.org: пользователь не найден',
        '',
        '**********************',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'WorkMail',
    write: report({
      from: 'Postmaster <postmaster@workmail.example>',
      subject: 'Delivery Status Notification (Failure)',
      text: 'An error occurred while trying to deliver the mail to the following recipients:\r\ngrace@example.org',
      perMessage: ['Reporting-MTA: dns; a8-50.smtp-out.example.net'],
      recipients: [
        failed({
          original: null,
          diagnostic: 'smtp; 550 5.1.1 RCPT TO:<grace@example.org>: user does not exist',
        }),
      ],
      returned: 'message',
    }),
    expected: GONE,
  },
  {
    name: 'Courier',
    write: plain({
      from: '"Courier mail server at mx.example.org" <@>',
      subject: 'NOTICE: mail delivery status.',
      text: () => [
        'This is a delivery status notification from mx.example.org,',
        'running the Courier mail server.',
        '',
        '                           UNDELIVERABLE MAIL',
        '',
        'Your message to the following recipients cannot be delivered:',
        '',
        '<grace@example.org>:',
        '    mx.example.net [192.0.2.3]:',
        '>>> RCPT TO:<grace@example.org>',
        '<<< 550 User unknown.',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'MDaemon',
    write: plain({
      from: 'MDaemon <mdaemon-postmaster@example.org>',
      subject: 'Permanent Delivery Failure',
      fields: ['Auto-Submitted: auto-generated'],
      text: () => [
        'The attached message had PERMANENT fatal delivery errors!',
        '',
        'Failed address: grace@example.org',
        '',
        '--- Session Transcript ---',
        ' RCPT TO:<grace@example.org>',
        ' 550 5.1.1 Recipient unknown',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'GroupWise',
    write: plain({
      from: 'Mailer-Daemon@example.org',
      subject: 'Message status - undeliverable',
      text: () => [
        'The message that you sent was undeliverable to the following:',
        '\tgrace@example.org (550 no such user)',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'GMX in German',
    write: plain({
      from: 'GMX Mailer Daemon <mailer-daemon@gmx.example>',
      subject: 'Mail delivery failed: returning message to sender',
      text: () => [
        'Diese Nachricht wurde automatisch erzeugt.',
        'Ihre E-Mail konnte nicht zugestellt werden.',
        '',
        'grace@example.org:',
        'Empfänger unbekannt',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Exchange in German, full',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Unzustellbar: The quarterly figures',
      text: () => [
        'Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Gruppen:',
        '',
        'grace@example.org',
        'Das Postfach ist voll. Der Empfänger kann keine Nachrichten annehmen.',
        '550 5.2.2',
      ],
    }),
    expected: soft('5.2.2'),
  },
  {
    name: 'French',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Échec de la remise',
      text: () => [
        "Votre message n'a pas pu être remis aux destinataires suivants :",
        '',
        'grace@example.org',
        "L'adresse n'existe pas.",
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Spanish',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'No entregado',
      text: () => [
        'No se ha podido entregar el mensaje a:',
        '',
        'grace@example.org',
        'La dirección no existe.',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Italian',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Recapito non riuscito',
      text: () => [
        'Non è stato possibile recapitare il messaggio a:',
        'grace@example.org',
        'Utente sconosciuto (550)',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Portuguese',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Falha na entrega',
      text: () => ['A mensagem não foi entregue a:', 'grace@example.org', 'O endereço não existe.'],
    }),
    expected: GONE,
  },
  {
    name: 'Dutch',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Onbestelbaar: The quarterly figures',
      text: () => [
        'Het bericht kon niet worden bezorgd aan:',
        'grace@example.org',
        'Het adres bestaat niet.',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Polish',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Niedostarczona wiadomość',
      text: () => ['Wiadomości nie udało się dostarczyć do:', 'grace@example.org', 'Konto nie istnieje.'],
    }),
    expected: GONE,
  },
  {
    name: 'Swedish',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Det gick inte att leverera',
      text: () => ['Meddelandet kunde inte levereras till:', 'grace@example.org', 'Adressen finns inte.'],
    }),
    expected: GONE,
  },
  {
    name: 'Czech',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Nedoručitelná zpráva',
      text: () => ['Zprávu nebylo možné doručit:', 'grace@example.org', 'Schránka neexistuje.'],
    }),
    expected: GONE,
  },
  {
    name: 'Japanese',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'failure notice',
      text: () => ['メールを配信できませんでした。', 'grace@example.org', 'このアドレスは存在しません。'],
    }),
    expected: GONE,
  },
  {
    name: 'Chinese',
    write: plain({
      from: 'postmaster@qq.example',
      subject: '系统退信',
      text: () => ['您的邮件无法投递到以下收件人：', 'grace@example.org', '收件人不存在'],
    }),
    expected: GONE,
  },
  {
    name: 'HTML only',
    write: plain({
      contentType: 'text/html; charset=utf-8',
      from: 'postmaster@example.org',
      subject: 'Undeliverable: The quarterly figures',
      text: () => [
        '<html><body><h1>Delivery has failed to these recipients or groups:</h1>',
        '<p><a href="mailto:grace@example.org">grace@example.org</a><br>',
        "The e-mail address you entered couldn't be found.</p>",
      ],
      copy: ({ messageId }) => [
        `<p>Original message headers:</p><pre>Message-ID: ${messageId.replace('<', '&lt;').replace('>', '&gt;')}`,
        '</pre></body></html>',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'multipart/mixed of a daemon',
    write: report({ type: 'multipart/mixed', fields: [] }),
    expected: GONE,
  },
  {
    name: 'a list of recipients without words about one of them',
    write: plain({
      fields: ['X-Failed-Recipients: grace@example.org, max@example.org'],
      text: () => ['Delivery failed to one or more recipients. 550 5.1.1 User unknown.'],
    }),
    expected: [`${GRACE} hard 5.1.1`, 'max@example.org hard 5.1.1'],
  },
  {
    name: 'an unknown program, with a code beside the address',
    write: plain({
      from: '<>',
      subject: 'Mail could not be delivered',
      text: () => ['Undeliverable.', 'To: grace@example.org', 'Error: 550 5.1.1 unknown'],
    }),
    expected: GONE,
  },
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
