import {
  type DsnShape,
  exchangeFields,
  failed,
  GONE,
  GRACE,
  HEADER,
  plain,
  report,
  soft,
} from './write-report.ts'

/** Reports in the form, or the words, of one program. */
export const PROGRAM_SHAPES: readonly DsnShape[] = [
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
]
