import { expect, test } from 'vitest'
import { parseAddresses, writeAddresses } from '../../mail/addresses.ts'
import { KINDS } from '../../mail/letters.ts'
import { openRandom } from '../../world/random.ts'
import { type Content, type ContentAttachment, readContent } from './mime-in.ts'
import { type NewMessage, writeAttachment, writeMessage } from './mime-out.ts'
import { putTogether, takeApart } from './mime-parts.ts'

const eva = { name: 'Eva', email: 'eva@office.test' }
const LETTERS = [...new Set(KINDS)].map((kind, nth) => {
  const letter = {
    from: { name: 'Öffentlich, "Amt"', email: 'amt@example.test' },
    to: eva,
    subject: 'Größe',
    messageId: `<${nth}@example.test>`,
    references: ['<a@example.test>', '<b@example.test>'],
    at: Date.parse('2026-03-01T10:00:00Z'),
  }
  return Buffer.from(kind(letter, openRandom(nth + 1)))
})

let last = 0
const boundary = () => `b${++last}`

const file: ContentAttachment = {
  kind: 'file',
  name: 'Übersicht "1".bin',
  contentType: 'application/octet-stream',
  contentId: null,
  isInline: false,
  url: '',
  bytes: Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 256)),
}
const picture: ContentAttachment = {
  ...file,
  name: 'dot.png',
  contentType: 'image/png',
  contentId: 'dot@x',
  isInline: true,
}
const item: ContentAttachment = {
  ...file,
  kind: 'item',
  name: 'Größe',
  contentType: 'message/rfc822',
  bytes: LETTERS[0] ?? Buffer.alloc(0),
}
const reference: ContentAttachment = {
  ...file,
  kind: 'reference',
  name: 'plan.docx',
  contentType: 'message/external-body',
  url: 'https://files.example.test/plan.docx?v=1;2',
  bytes: Buffer.alloc(0),
}

/** Content without the headers that say how its body is written. */
const readable = ({ headers, ...content }: Content) => ({
  ...content,
  headers: headers.filter(({ name }) => !/^(?:content-|mime-version)/i.test(name)),
})

test('reads the same of a message that was taken apart and put together', () => {
  for (const raw of LETTERS)
    expect(readable(readContent(putTogether(takeApart(raw), boundary)))).toEqual(readable(readContent(raw)))
})

test('adds attachments of every kind behind those that are there, and takes them away', () => {
  for (const raw of LETTERS) {
    const before = readable(readContent(raw))
    const pieces = takeApart(raw)
    const added = [picture, file, item, reference].map(writeAttachment)
    const more = putTogether({ ...pieces, attachments: [...pieces.attachments, ...added] }, boundary)
    const { attachments, ...rest } = readable(readContent(more))
    const { attachments: old, ...same } = before
    expect(rest).toEqual(same)
    expect(new Set(attachments)).toEqual(new Set([...old, picture, file, item, reference]))
    const again = takeApart(more)
    const kept = again.attachments.filter(({ entity }) => !added.some(one => one.entity.equals(entity)))
    expect(readable(readContent(putTogether({ ...again, attachments: kept }, boundary))).attachments).toEqual(
      old,
    )
  }
})

test('writes a message that reads as it was asked for', () => {
  const message: NewMessage = {
    subject: `Sehr ${'lang und schön '.repeat(20)}`.trim(),
    from: { name: 'Eva Ö', address: 'eva@office.test' },
    sender: { name: '', address: 'assistant@office.test' },
    to: [
      { name: 'Comma, Name', address: 'a@example.test' },
      { name: '', address: 'b@example.test' },
    ],
    cc: [{ name: 'C "c" d', address: 'c@example.test' }],
    bcc: [{ name: 'Hidden', address: 'h@example.test' }],
    replyTo: [{ name: '', address: 'r@example.test' }],
    importance: 'high',
    isReadReceiptRequested: true,
    isDeliveryReceiptRequested: false,
    messageId: '<new@office.test>',
    date: Date.parse('2026-03-01T10:00:00Z'),
    answers: { inReplyTo: '<b@x.test>', references: ['<a@x.test>', '<b@x.test>'] },
    headers: [{ name: 'X-Own', value: 'größer' }],
    body: { contentType: 'html', content: '<p>Grüße</p>'.repeat(50) },
    attachments: [picture, file].map(writeAttachment),
  }
  const raw = writeMessage(message, boundary)
  const { headers, answers, attachments, attachmentsWithin: _, ...read } = readContent(raw)
  const { answers: _answers, headers: _headers, attachments: _attachments, ...asked } = message
  expect(read).toEqual(asked)
  expect(answers).toEqual(['<b@x.test>', '<a@x.test>', '<b@x.test>'])
  expect(headers).toContainEqual({ name: 'X-Own', value: 'größer' })
  expect(attachments).toEqual([picture, file])
  expect(
    Math.max(
      ...raw
        .toString('latin1')
        .split('\r\n')
        .map(line => line.length),
    ),
  ).toBeLessThan(200)
})

test.each([
  ['Team: a@x.test, "B, b" <b@x.test>; c@x.test (See)', ['a@x.test', 'B, b b@x.test', 'See c@x.test']],
  ['=?utf-8?Q?J=C3=B6?= <j@x.test>, nobody, "x" <>', ['Jö j@x.test']],
  ['undisclosed-recipients:;', []],
  [String.raw`"a \"b\" c" <d@x.test>`, ['a "b" c d@x.test']],
])('reads the addresses of %s', (value, expected) => {
  const addresses = parseAddresses(value)
  expect(addresses.map(({ name, address }) => `${name} ${address}`.trim())).toEqual(expected)
  expect(parseAddresses(writeAddresses(addresses).replaceAll(/\r\n /g, ' '))).toEqual(addresses)
})
