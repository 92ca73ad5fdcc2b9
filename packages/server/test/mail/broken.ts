import type { Random } from '../seeded.ts'
import { dateField } from './fields.ts'
import type { ExpectedFacts } from './message.ts'
import { noise } from './bodies.ts'

export interface BrokenMessage {
  raw: Buffer
  expected: ExpectedFacts
  /** False if a strict server (Cyrus) refuses it: NUL, bare line feeds, no header. */
  fitsStrictServer?: boolean
}

interface Context {
  random: Random
  number: number
  date: Date
  id: string
}

const FROM = { name: null, address: 'sender@example.com' }
const TO = { name: null, address: 'you@example.com' }

function build(
  context: Context,
  body: string | Buffer,
  change: { drop?: string[]; add?: Array<string | Buffer> } = {},
) {
  const fields = [
    'From: sender@example.com',
    'To: you@example.com',
    `Subject: Broken ${context.number}`,
    dateField(context.random, context.date),
    `Message-ID: ${context.id}`,
  ].filter(field => !change.drop?.some(name => field.startsWith(`${name}:`)))
  const lines = [...fields, ...(change.add ?? [])].flatMap(field => [
    Buffer.from(field as string),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...lines, Buffer.from('\r\n'), Buffer.from(body as string)])
}

function facts({ id, number, date }: Context, change: Partial<ExpectedFacts> = {}): ExpectedFacts {
  const usual = {
    internetMessageId: id,
    references: [],
    subject: `Broken ${number}`,
    from: FROM,
    to: [TO],
    cc: [],
    sentAt: date,
  }
  return { ...usual, ...change }
}

const MIXED = 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=cut'
const TEXT = 'Here is the text.\r\n'

/** Ways in which real mail is broken. Where readers may differ, nothing is expected. */
export const BROKEN: Record<string, (context: Context) => BrokenMessage> = {
  'no closing boundary': context => ({
    raw: build(context, `--cut\r\nContent-Type: text/plain\r\n\r\n${TEXT}`, { add: [MIXED] }),
    expected: facts(context, { snippetStart: 'Here is the text.', hasAttachments: false }),
  }),
  'a boundary that never occurs': context => ({
    raw: build(context, TEXT, { add: [MIXED] }),
    expected: facts(context, { hasAttachments: false }),
  }),
  'multipart without a boundary': context => ({
    raw: build(context, TEXT, { add: ['Content-Type: multipart/alternative'] }),
    expected: facts(context, { hasAttachments: false }),
  }),
  'an unknown charset': context => ({
    raw: build(context, TEXT, { add: ['Content-Type: text/plain; charset=x-no-such-thing'] }),
    expected: facts(context, { snippetStart: 'Here is the text.' }),
  }),
  'bytes that its charset lacks': context => ({
    raw: build(context, Buffer.from('Gr\xfc\xdfe \xff\xfe\r\n', 'latin1'), {
      add: ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit'],
    }),
    expected: facts(context, { snippetStart: 'Gr' }),
  }),
  'NUL in its text': context => ({
    raw: build(context, 'Before\0after\r\n'),
    expected: facts(context, { snippetStart: 'Before' }),
    fitsStrictServer: false,
  }),
  'NUL in its subject': context => ({
    raw: build(context, TEXT, { drop: ['Subject'], add: ['Subject: a\0b'] }),
    expected: { ...facts(context), subject: undefined },
    fitsStrictServer: false,
  }),
  'no header': context => ({
    raw: Buffer.from(`\r\nA text without any header, number ${context.number}.\r\n`),
    expected: { internetMessageId: null, references: [], subject: null, from: null, to: [], sentAt: null },
    fitsStrictServer: false,
  }),
  'a header and no body': context => ({
    raw: build(context, '').subarray(0, -2),
    expected: facts(context, { snippetStart: '', hasAttachments: false }),
  }),
  'no Message-ID': context => ({
    raw: build(context, TEXT, { drop: ['Message-ID'] }),
    expected: facts(context, { internetMessageId: null }),
  }),
  'no Date': context => ({
    raw: build(context, TEXT, { drop: ['Date'] }),
    expected: facts(context, { sentAt: null }),
  }),
  'an invalid Date': context => ({
    raw: build(context, TEXT, { drop: ['Date'], add: ['Date: sometime last week'] }),
    expected: facts(context, { sentAt: null }),
  }),
  'no From': context => ({
    raw: build(context, TEXT, { drop: ['From'] }),
    expected: facts(context, { from: null }),
  }),
  'no Subject': context => ({
    raw: build(context, TEXT, { drop: ['Subject'] }),
    expected: facts(context, { subject: null }),
  }),
  '200 recipients': context => {
    const people = Array.from({ length: 200 }, (_, index) => ({
      name: `Person ${index}`,
      address: `p${index}@example.com`,
    }))
    const list = people.map(({ name, address }) => `${name} <${address}>`).join(',\r\n ')
    return { raw: build(context, TEXT, { add: [`Cc: ${list}`] }), expected: facts(context, { cc: people }) }
  },
  'a header of 20 KB': context => {
    const filler = Array.from({ length: 270 }, (_, index) => `X-Trace-${index}: ${'t'.repeat(60)}`)
    const raw = build(context, TEXT, {
      drop: ['Subject'],
      add: [...filler, `Subject: Broken ${context.number}`],
    })
    return { raw, expected: facts(context, { snippetStart: 'Here is the text.' }) }
  },
  'one field of 20 KB': context => ({
    raw: build(context, TEXT, { add: [`X-Signature:${`\r\n ${'s'.repeat(70)}`.repeat(280)}`] }),
    expected: facts(context),
  }),
  '300 references': context => {
    const references = Array.from(
      { length: 300 },
      (_, index) => `<${context.number}.${index}@long.example.com>`,
    )
    const raw = build(context, TEXT, { add: [`References: ${references.join('\r\n ')}`] })
    // The reader chooses how many of them count.
    return { raw, expected: { ...facts(context), references: undefined } }
  },
  'base64 with rubbish in it': context => ({
    raw: build(context, 'SGVyZSBp***cyB0aGUg!!\r\ndGV4dC4=\r\n-- \r\nlist footer\r\n', {
      add: ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64'],
    }),
    expected: facts(context, { snippetStart: 'Here is' }),
  }),
  'quoted-printable with rubbish in it': context => ({
    raw: build(context, 'Here is=ZZ =C3=BC the=\r\n text=', {
      add: ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: quoted-printable'],
    }),
    expected: facts(context, { snippetStart: 'Here is' }),
  }),
  'two subjects': context => ({
    raw: build(context, TEXT, { add: ['Subject: Another'] }),
    expected: { ...facts(context), subject: undefined },
  }),
  'a line that is not a field': context => ({
    raw: build(context, TEXT, { add: ['this is no field at all', 'X-After: yes'] }),
    expected: { internetMessageId: context.id },
    fitsStrictServer: false,
  }),
  'bare line feeds': context => ({
    raw: Buffer.from(build(context, TEXT).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    expected: facts(context, { snippetStart: 'Here is the text.' }),
    fitsStrictServer: false,
  }),
  'parts nested 60 deep': context => {
    const ids = Array.from({ length: 60 }, (_, index) => `b${index}`)
    const open = ids.map(
      (id, index) => `--${id}\r\nContent-Type: multipart/mixed; boundary=${ids[index + 1] ?? 'end'}\r\n\r\n`,
    )
    const raw = build(context, open.join(''), { add: ['Content-Type: multipart/mixed; boundary=b0'] })
    return { raw, expected: facts(context) }
  },
  'encoded words that do not end': context => ({
    raw: build(context, TEXT, { drop: ['Subject'], add: ['Subject: =?utf-8?B?4pyT?= =?utf-8?Q?never'] }),
    expected: { ...facts(context), subject: undefined },
  }),
  'invalid recipients': context => ({
    raw: build(context, TEXT, {
      drop: ['To'],
      add: ['To: undisclosed-recipients:;', 'Cc: <>, @, "unterminated'],
    }),
    expected: { ...facts(context, { to: [] }), cc: undefined },
  }),
  'a file that is cut off': context => {
    const head = '--cut\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf'
    const content = noise(context.random, 3000).toString('base64')
    return {
      raw: build(context, `${head}\r\nContent-Transfer-Encoding: base64\r\n\r\n${content}`, { add: [MIXED] }),
      expected: facts(context, { hasAttachments: true }),
    }
  },
}
