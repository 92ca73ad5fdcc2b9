import type { AttachedFile } from '../../src/features/sending/compose/attached.ts'
import type { Composition } from '../../src/features/sending/compose/composition.ts'
import type { Mailbox } from '../../src/kit/mime-writing/fields.ts'
import type { Random } from '../seeded.ts'

/* Messages whose every value tries to be something else. Values are those that the interface accepts. */

const SCRAPS = [
  'a',
  'Z',
  ' ',
  '  ',
  '"',
  '\\',
  '\\"',
  ',',
  ';',
  ':',
  '<',
  '>',
  '(',
  ')',
  '@',
  '=',
  '?=',
  '=?utf-8?q?x?=',
  '=?UTF-8?B?eA==?=',
  '=20',
  '%41',
  "'",
  '*0*=',
  '<evil@example.net>',
  'Bcc: evil@example.net',
  '-- ',
  '--=_',
  '.',
  'ü',
  'ß',
  'é',
  '日本語',
  '😀',
  '\u{1f468}\u200d\u{1f469}',
  '\u202e',
  '\u2028',
  '\ud800',
  'и',
  'averylongwordwithoutanyspaceinit'.repeat(4),
] as const

export function hostileLine(random: Random, scrapsMax: number): string {
  let line = ''
  for (let count = random.between(1, scrapsMax); count > 0; count--) line += random.pick(SCRAPS)
  return line
}

const BODY_SCRAPS = [
  '\n',
  '\r\n',
  '\r',
  '\n.\n',
  '\r\n.\r\n',
  '\nFrom me\n',
  ' \n',
  '\t\n',
  '\u0001',
  '\f',
  '--=_',
  'word ',
] as const

export function hostileBody(random: Random): string {
  let body = ''
  for (let count = random.between(0, 60); count > 0; count--)
    body += random.chance(0.4) ? random.pick(BODY_SCRAPS) : random.pick(SCRAPS)
  return body
}

const LOCAL_PARTS = ['ada', "o'neil", 'a.b+c', '{x}', '!#$%&*/=?^_`|~-', 'A'.repeat(60)] as const
const DOMAINS = ['example.com', 'EXAMPLE.org', 'bücher.example', 'xn--bcher-kva.example'] as const

export function hostileMailbox(random: Random): Mailbox {
  const local = random.pick(LOCAL_PARTS)
  const name = random.chance(0.2) ? null : [...hostileLine(random, 12)].slice(0, 256).join('')
  return { name, address: `${local}${random.between(1, 40)}@${random.pick(DOMAINS)}` }
}

function mailboxes(random: Random, most: number): Mailbox[] {
  return Array.from({ length: random.between(0, most) }, () => hostileMailbox(random))
}

const TYPES = ['application/pdf', 'image/png', 'text/csv', 'text/html', 'application/octet-stream'] as const

export function hostileFile(random: Random, index: number): AttachedFile {
  const content = Buffer.from(
    Array.from({ length: random.pick([0, 1, 56, 57, 58, 500, 3000]) }, () => random.between(0, 255)),
  )
  const isInline = random.chance(0.4)
  return {
    filename: random.chance(0.1) ? null : [...`${hostileLine(random, 10)}x`].slice(0, 255).join(''),
    contentType: random.pick(TYPES),
    contentId: isInline || random.chance(0.2) ? `part-${index}@"x";y` : null,
    isInline,
    byteLength: random.chance(0.5) ? content.length : null,
    async *open() {
      for (let at = 0; at < content.length; at += 37) yield content.subarray(at, at + 37)
    },
  }
}

export function hostileComposition(random: Random): Composition {
  const html = random.chance(0.6) ? `<p>${hostileBody(random)}</p>` : null
  return {
    internetMessageId: `<${random.between(0, 1e9)}.${random.between(0, 1e9)}@example.com>`,
    outboxId: '01a1fc14-5d3e-7c50-9b1d-4d6f2a8e7b90',
    draftMark: null,
    unsubscribeUrl: null,
    wireHtml: null,
    date: new Date(random.between(0, 4e12)),
    from: { ...hostileMailbox(random), address: 'ada@example.com' },
    to: mailboxes(random, 5),
    cc: mailboxes(random, 3),
    bcc: mailboxes(random, 3),
    replyTo: mailboxes(random, 2),
    subject: hostileLine(random, 40),
    inReplyTo: random.chance(0.5) ? '<first@example.net>' : null,
    references: Array.from({ length: random.between(0, 30) }, (_, index) => `<r${index}@example.net>`),
    importance: random.pick(['high', 'normal', 'low', null] as const),
    headers: [
      { name: 'X-Odd', value: `${hostileLine(random, 20)}x` },
      { name: 'List-Id', value: `${hostileLine(random, 4)}x` },
    ],
    text: random.chance(0.3) && html !== null ? null : `${hostileBody(random)}x`,
    html,
    signature: null,
    attachments: Array.from({ length: random.between(0, 4) }, (_, index) => hostileFile(random, index)),
    calendar: null,
  }
}
