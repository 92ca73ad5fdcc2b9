import { expect, test } from 'vitest'
import { writeAddresses } from '../../mail/addresses.ts'
import { KINDS } from '../../mail/letters.ts'
import { headersOf } from '../../mail/message-headers.ts'
import { openRandom } from '../../world/random.ts'
import { fieldsOfMime, readContent } from './content.ts'
import type { Attachment } from './message.ts'
import { type NewAttachment, type WrittenMessage, writeAttachment, writeMessage } from './mime-out.ts'
import { putTogether, takeApart, withoutAttachment } from './mime-parts.ts'
import { parseRecipients } from './recipients.ts'

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

const file: NewAttachment = {
  kind: 'file',
  name: 'Übersicht "1".bin',
  contentType: 'application/octet-stream',
  contentId: null,
  isInline: false,
  bytes: Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 256)),
}
const picture = { ...file, name: 'dot.png', contentType: 'image/png', contentId: 'dot@x', isInline: true }
const item: NewAttachment = {
  ...file,
  kind: 'item',
  name: 'Größe',
  contentType: 'message/rfc822',
  bytes: LETTERS[0] ?? Buffer.alloc(0),
}

/** What Graph reads of a message, without the ids of its attachments. */
function read(raw: Buffer) {
  const headers = headersOf(raw)
  const { attachments, hasAttachments: _, ...content } = readContent({ raw, immutableId: 'x', createdAt: 0 })
  return {
    fields: fieldsOfMime(headers),
    headers: headers.filter(({ name }) => !/^(?:content-|mime-version)/i.test(name)),
    ...content,
    attachments: attachments.map(asNew),
  }
}

function asNew(attachment: Attachment): NewAttachment {
  const { id: _, modifiedAt: _at, size: _size, ...rest } = attachment
  if (rest.kind === 'file') return rest
  if (rest.kind === 'reference' || rest.mime === null) throw new Error('MIME has no such attachment')
  const { mime, item: _item, ...named } = rest
  return { ...named, bytes: mime }
}

test('reads the same of a message that was taken apart and put together', () => {
  for (const raw of LETTERS) expect(read(putTogether(takeApart(raw), boundary))).toEqual(read(raw))
})

test('adds attachments behind those that are there, and takes each away again', () => {
  for (const raw of LETTERS) {
    const { attachments: old, ...before } = read(raw)
    const pieces = takeApart(raw)
    const added = [picture, file, item]
    const more = putTogether(
      { ...pieces, attached: [...pieces.attached, ...added.map(writeAttachment)] },
      boundary,
    )
    const { attachments, ...same } = read(more)
    expect(same).toEqual(before)
    expect(new Set(attachments)).toEqual(new Set([...old, ...added]))
    for (const [nth, gone] of attachments.entries()) {
      const less = withoutAttachment(takeApart(more), nth)
      if (!less) throw new Error(`${gone.name} stays`)
      expect(read(putTogether(less, boundary))).toEqual({
        ...before,
        attachments: attachments.filter(one => one !== gone),
      })
    }
  }
})

test('writes a message that reads as it was asked for', () => {
  const fields = {
    subject: `Sehr ${'lang und schön '.repeat(20)}`.trim(),
    from: { name: 'Eva Ö', address: 'eva@office.test' },
    sender: { name: 'Helper', address: 'assistant@office.test' },
    toRecipients: [
      { name: 'Comma, Name', address: 'a@example.test' },
      { name: 'b@example.test', address: 'b@example.test' },
    ],
    ccRecipients: [{ name: 'C "c" d', address: 'c@example.test' }],
    bccRecipients: [{ name: 'Hidden', address: 'h@example.test' }],
    replyTo: [{ name: 'R', address: 'r@example.test' }],
    importance: 'high',
    isReadReceiptRequested: true,
    isDeliveryReceiptRequested: false,
    internetMessageId: '<new@office.test>',
    sentAt: Date.parse('2026-03-01T10:00:00Z'),
  } as const
  const message: WrittenMessage = {
    ...fields,
    answers: { inReplyTo: '<b@x.test>', references: ['<a@x.test>', '<b@x.test>'] },
    headers: [{ name: 'X-Own', value: 'größer' }],
    body: { contentType: 'html', content: '<p>Grüße</p>'.repeat(50) },
    attached: [picture, file].map(writeAttachment),
  }
  const raw = writeMessage(message, boundary)
  const found = read(raw)
  expect(found.fields).toEqual({ ...fields, messageClass: 'IPM.Note' })
  expect(found.body).toEqual(message.body)
  expect(found.attachments).toEqual([picture, file])
  for (const header of [
    { name: 'X-Own', value: 'größer' },
    { name: 'In-Reply-To', value: '<b@x.test>' },
    { name: 'References', value: '<a@x.test> <b@x.test>' },
  ])
    expect(found.headers).toContainEqual(header)
  const lengths = raw
    .toString('latin1')
    .split('\r\n')
    .map(line => line.length)
  expect(Math.max(...lengths)).toBeLessThan(200)
})

test.each([
  [{ name: 'A, B', address: 'a@x.test' }, '"A, B" <a@x.test>'],
  [{ name: 'a@x.test', address: 'a@x.test' }, 'a@x.test'],
  [{ name: 'A "b"', address: 'a@x.test' }, String.raw`"A \"b\"" <a@x.test>`],
])('writes %j as %s', (recipient, expected) => {
  expect(writeAddresses([recipient])).toBe(expected)
  expect(parseRecipients(expected)).toEqual([recipient])
})
