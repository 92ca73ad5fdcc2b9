import type { Random } from '../world/random.ts'
import { sentence, type Person } from './words.ts'

/** Headers of a seeded message. */
export interface Letter {
  from: Person
  to: Person
  subject: string
  messageId: string
  references: string[]
  at: number
}

/** Writes a message (RFC 5322). */
type Kind = (letter: Letter, random: Random) => string

const plain: Kind = (letter, random) =>
  message(
    letter,
    ['Content-Type: text/plain; charset="UTF-8"', 'Content-Transfer-Encoding: 8bit'],
    paragraphs(random),
  )

const quoted: Kind = (letter, random) =>
  message(
    letter,
    ['Content-Type: text/plain; charset="iso-8859-1"', 'Content-Transfer-Encoding: quoted-printable'],
    `Liebe Gr=FC=DFe, ${paragraphs(random)} =\r\nund so weiter =3D Ende`,
  )

const alternative: Kind = (letter, random) => message(letter, ...alternatives(random))

const html: Kind = (letter, random) =>
  message(
    letter,
    [
      'Content-Type: text/html; charset="UTF-8"',
      'List-Unsubscribe: <https://list.example.test/u/1>',
      'List-Id: News <news.list.example.test>',
    ],
    `<html><head><title>News</title><style>p { color: red }</style></head><body><p>${escaped(paragraphs(random))}</p></body></html>`,
  )

const attached: Kind = (letter, random) => {
  const [type, body] = alternatives(random)
  const file = Buffer.from(random.hex(40).repeat(1 + random.integer(80))).toString('base64')
  return message(
    letter,
    ['Content-Type: multipart/mixed; boundary="mixed"'],
    parts('mixed', [
      [type, body],
      [
        [
          'Content-Type: application/pdf; name="report.pdf"',
          'Content-Disposition: attachment; filename="report.pdf"',
          'Content-Transfer-Encoding: base64',
        ],
        folded(file),
      ],
      [
        [
          'Content-Type: text/plain; charset=utf-8',
          "Content-Disposition: attachment; filename*=UTF-8''notes%20%C3%BC.txt",
        ],
        paragraphs(random),
      ],
    ]),
  )
}

const inline: Kind = (letter, random) => {
  const image = Buffer.from(random.hex(40).repeat(10)).toString('base64')
  return message(
    letter,
    ['Content-Type: multipart/related; boundary="related"'],
    parts('related', [
      [
        ['Content-Type: text/html; charset=UTF-8'],
        `<p>${escaped(paragraphs(random))}</p><img src="cid:picture@example.test">`,
      ],
      [
        [
          'Content-Type: image/png; name="picture.png"',
          'Content-ID: <picture@example.test>',
          'Content-Disposition: inline; filename="picture.png"',
          'Content-Transfer-Encoding: base64',
        ],
        folded(image),
      ],
    ]),
  )
}

const forwarded: Kind = (letter, random) => {
  const inner = plain(
    {
      ...letter,
      subject: 'The message that is forwarded',
      references: [],
      messageId: `<inner.${random.hex(8)}@example.test>`,
    },
    random,
  )
  return message(
    letter,
    ['Content-Type: multipart/mixed; boundary="outer"'],
    parts('outer', [
      [['Content-Type: text/plain'], 'See below.'],
      [['Content-Type: message/rfc822', 'Content-Disposition: attachment; filename="forwarded.eml"'], inner],
    ]),
  )
}

const invitation: Kind = (letter, random) => {
  const [type, body] = alternatives(random)
  const stamp = new Date(letter.at).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const event = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'METHOD:REQUEST',
    'BEGIN:VEVENT',
    `UID:${letter.messageId.slice(1, -1)}`,
    `DTSTAMP:${stamp}`,
    `DTSTART:${stamp}`,
    `SUMMARY:${letter.subject}`,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ]
  return message(
    letter,
    ['Content-Type: multipart/mixed; boundary="invite"'],
    parts('invite', [
      [type, body],
      [['Content-Type: text/calendar; charset="UTF-8"; method=REQUEST'], event.join('\r\n')],
    ]),
  )
}

/** The kinds of mail that people get; the common ones are named more often. */
export const KINDS: readonly [Kind, ...Kind[]] = [
  plain,
  plain,
  alternative,
  alternative,
  html,
  quoted,
  attached,
  inline,
  forwarded,
  invitation,
]

type Body = [headers: string[], body: string]

function alternatives(random: Random): Body {
  const text = paragraphs(random)
  return [
    ['Content-Type: multipart/alternative; boundary="alternative"'],
    parts('alternative', [
      [['Content-Type: text/plain; charset="UTF-8"'], text],
      [
        ['Content-Type: text/html; charset="UTF-8"'],
        `<div dir="ltr">${escaped(text).replaceAll('\r\n\r\n', '<br><br>')}</div>`,
      ],
    ]),
  ]
}

const parts = (boundary: string, bodies: Body[]): string =>
  `${bodies.map(([headers, body]) => `--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n${body}\r\n`).join('')}--${boundary}--\r\n`

function message(
  { from, to, subject, messageId, references, at }: Letter,
  headers: string[],
  body: string,
): string {
  const lines = [
    `MIME-Version: 1.0`,
    `Date: ${new Date(at).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: ${messageId}`,
    ...(references.length > 0
      ? [`In-Reply-To: ${references.at(-1)}`, `References: ${references.slice(-10).join('\r\n ')}`]
      : []),
    `Subject: ${encoded(subject)}`,
    `From: ${mailbox(from)}`,
    `To: ${mailbox(to)}`,
    ...headers,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}\r\n`
}

function mailbox({ name, email }: Person): string {
  if (name === '') return email
  return `${/^[\w ]+$/.test(name) ? name : /^[\x20-\x7E]+$/.test(name) ? `"${name}"` : encoded(name)} <${email}>`
}

const encoded = (text: string): string =>
  /^[\x20-\x7E]*$/.test(text) ? text : `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`

const folded = (base64: string): string => base64.replaceAll(/.{76}/g, '$&\r\n')

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function paragraphs(random: Random): string {
  return Array.from({ length: 1 + random.integer(4) }, () =>
    sentence(4 + random.integer(30), random.integer),
  ).join('\r\n\r\n')
}
