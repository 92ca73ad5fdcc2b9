import { describe, expect, test } from 'vitest'
import {
  attachedBytes,
  decodedLength,
  envelopeRecipients,
  forwardSubject,
  MAIL_DATE_LENGTH,
  mailDate,
  newInternetMessageId,
  planReply,
  replySubject,
  signHtml,
} from './rules.ts'

describe('subjects', () => {
  test.each([
    ['Figures', 'Re: Figures', 'Fwd: Figures'],
    ['Re: Figures', 'Re: Figures', 'Fwd: Re: Figures'],
    ['RE: Figures', 'RE: Figures', 'Fwd: RE: Figures'],
    ['AW: Figures', 'AW: Figures', 'Fwd: AW: Figures'],
    ['re[2]: Figures', 're[2]: Figures', 'Fwd: re[2]: Figures'],
    ['Fwd: Figures', 'Re: Fwd: Figures', 'Fwd: Figures'],
    ['FW: Figures', 'Re: FW: Figures', 'FW: Figures'],
    ['Report: Figures', 'Re: Report: Figures', 'Fwd: Report: Figures'],
    ['  Figures ', 'Re: Figures', 'Fwd: Figures'],
    ['', 'Re:', 'Fwd:'],
    [null, 'Re:', 'Fwd:'],
  ])('of a reply to %j and of its forward', (original, reply, forward) => {
    expect(replySubject(original)).toBe(reply)
    expect(forwardSubject(original)).toBe(forward)
    expect(replySubject(reply)).toBe(reply)
    expect(forwardSubject(forward)).toBe(forward)
  })
})

describe('planReply', () => {
  test.each([
    [
      'its References and its id',
      { messageId: '<c@x>', references: '<a@x> <b@x>', inReplyTo: '<b@x>' },
      '<a@x> <b@x> <c@x>',
    ],
    [
      'its In-Reply-To if it has no References',
      { messageId: '<c@x>', references: null, inReplyTo: '<b@x>' },
      '<b@x> <c@x>',
    ],
    ['its id alone', { messageId: '<c@x>', references: null, inReplyTo: null }, '<c@x>'],
    ['nothing of a message without an id', { messageId: null, references: null, inReplyTo: null }, ''],
    ['what it refers to if it has no id', { messageId: null, references: '<a@x>', inReplyTo: null }, '<a@x>'],
    [
      'each id once, the newest last',
      { messageId: '<c@x>', references: '<a@x> <c@x> <a@x> <b@x>', inReplyTo: null },
      '<a@x> <b@x> <c@x>',
    ],
    [
      'no words that are no ids',
      { messageId: '<c@x>', references: 'hello <a@x> <b c> <ü@x> <>', inReplyTo: null },
      '<a@x> <c@x>',
    ],
    [
      'no id that a line cannot hold',
      { messageId: '<c@x>', references: `<${'a'.repeat(980)}> <b@x>`, inReplyTo: null },
      '<b@x> <c@x>',
    ],
  ])('refers to %s', (_, original, references) => {
    const plan = planReply(original)
    expect(plan.references.join(' ')).toBe(references)
    expect(plan.inReplyTo).toBe(original.messageId)
  })

  test('reads fields as they stand in a header', () => {
    const original = { messageId: ' <c@x> \r\n', references: '\r\n <a@x>\r\n\t<b@x>\r\n', inReplyTo: null }
    expect(planReply(original)).toEqual({ inReplyTo: '<c@x>', references: ['<a@x>', '<b@x>', '<c@x>'] })
  })

  test('keeps the first and the newest of more than 100 ids', () => {
    const ids = Array.from({ length: 150 }, (_, index) => `<${index}@x>`)
    const { references } = planReply({ messageId: '<new@x>', references: ids.join(' '), inReplyTo: null })
    expect(references).toEqual(['<0@x>', ...ids.slice(52), '<new@x>'])
    expect(references).toHaveLength(100)
  })

  test('keeps a header that servers take, however long the ids are', () => {
    const ids = Array.from({ length: 100 }, (_, index) => `<${index}${'a'.repeat(880)}@x>`)
    const { references } = planReply({ messageId: '<new@x>', references: ids.join(' '), inReplyTo: null })
    expect(references[0]).toBe(ids[0])
    expect(references.at(-1)).toBe('<new@x>')
    expect(references.join('').length).toBeLessThan(33_000)
    expect(references.length).toBeGreaterThan(30)
  })

  test('names no original whose id could not be written', () => {
    const original = { messageId: '<ü@x>', references: '<a@x>', inReplyTo: null }
    expect(planReply(original)).toEqual({ inReplyTo: null, references: ['<a@x>'] })
  })
})

describe('envelopeRecipients', () => {
  const at = (...addresses: string[]) => addresses.map(address => ({ name: null, address }))
  test.each([
    [
      'an address once, as it is written first',
      [at('Ada@x.example'), at('ada@X.example'), at('ADA@x.example')],
      ['Ada@x.example'],
    ],
    [
      'domains as A-labels',
      [at('ada@bücher.example', 'ada@xn--bcher-kva.example')],
      ['ada@xn--bcher-kva.example'],
    ],
    [
      'tags and dots as written',
      [at('a.da@x.example', 'ada+x@x.example', 'ada@x.example')],
      ['a.da@x.example', 'ada+x@x.example', 'ada@x.example'],
    ],
    ['local parts beyond ASCII as they are', [at('δοκ@παράδειγμα.gr')], ['δοκ@xn--hxajbheg2az3al.gr']],
    ['nobody', [], []],
  ])('has %s', (_, fields, recipients) => {
    expect(envelopeRecipients(...fields)).toEqual(recipients)
  })
})

test('a Message-ID has the outbox id, a nonce and the domain of From as A-labels', () => {
  const id = '01a1fc14-5d3e-7c50-9b1d-4d6f2a8e7b90'
  const first = newInternetMessageId(id, 'ada@bücher.example')
  expect(first).toMatch(new RegExp(`^<${id}\\.[0-9a-f]{16}@xn--bcher-kva\\.example>$`))
  expect(newInternetMessageId(id, 'ada@bücher.example')).not.toBe(first)
})

test.each([0, 1, 86_400_000 * 9, 1e12, 4e12, Date.UTC(9999, 11, 31)])(
  'a date always has the same length: %d',
  milliseconds => {
    const written = mailDate(new Date(milliseconds))
    expect(written).toHaveLength(MAIL_DATE_LENGTH)
    expect(new Date(written).getTime()).toBe(Math.floor(milliseconds / 1000) * 1000)
  },
)

test.each([0, 1, 2, 3, 4, 57, 100])('%d bytes of base64 have their decoded length', bytes => {
  const content = Buffer.alloc(bytes, 7).toString('base64')
  expect(decodedLength(content)).toBe(bytes)
  expect(attachedBytes([{ content }, {}, { content }])).toBe(2 * bytes)
})

test.each([
  ['<p>Hi</p>', '<p>Hi</p><div>S</div>'],
  ['<body>Hi</body></html>', '<body>Hi<div>S</div></body></html>'],
  ['<body>a</body>b</BODY >c', '<body>a</body>b<div>S</div></BODY >c'],
  ['<html>Hi</html>', '<html>Hi<div>S</div></html>'],
])('signHtml signs %j', (html, signed) => {
  expect(signHtml(html, 'S')).toBe(signed)
})
