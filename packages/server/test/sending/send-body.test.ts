import { draftBody, draftSendBody, sendBody } from '@waxwing/contract/sending/send-body.ts'
import { describe, expect, test } from 'vitest'

const ID = '01a1fc15-0c9b-7d0a-a4f7-3f5b1c2d9e22'
const GRACE = { address: 'grace@example.org' }
const content = 'aGk='
const many = (count: number, value: unknown) => Array.from({ length: count }, () => value)

const pathsOf = (body: unknown, schema: typeof sendBody | typeof draftBody = sendBody) =>
  schema.safeParse(body).error?.issues.map(({ path }) => path.join('.')) ?? []

describe('the body of a send', () => {
  test.each<[string, unknown]>([
    ['nothing', {}],
    [
      'null for what it does not give',
      {
        from: null,
        subject: null,
        html: null,
        text: null,
        importance: null,
        inReplyTo: null,
        forwardOf: null,
        sendAt: null,
        reference: null,
      },
    ],
    ['an address as it is read', { to: [{ name: null, address: 'grace@example.org' }] }],
    ['addresses beyond ASCII', { to: [{ address: 'δοκ@παράδειγμα.gr' }] }],
    [
      'both kinds of attachments',
      { attachments: [{ content }, { content: '' }, { messageId: ID, attachmentId: '1.2' }] },
    ],
    [
      'an inline image',
      {
        attachments: [
          { content, contentId: 'logo@x', isInline: true, filename: 'ü.png', contentType: 'image/png' },
        ],
      },
    ],
    [
      'own fields',
      {
        headers: [
          { name: 'X-Campaign', value: 'ü' },
          { name: 'list-id', value: '<a.b>' },
          { name: 'PRECEDENCE', value: 'bulk' },
        ],
      },
    ],
    [
      'the longest values',
      {
        subject: '😀'.repeat(2000),
        text: 'x'.repeat(1_000_000),
        reference: 'x'.repeat(255),
        headers: [{ name: 'X-A', value: 'x'.repeat(998) }],
      },
    ],
    ['500 recipients', { to: many(300, GRACE), cc: many(100, GRACE), bcc: many(100, GRACE) }],
  ])('takes %s', (_, body) => {
    expect(sendBody.safeParse(body).error).toBeUndefined()
  })

  const line = (value: string): Array<[body: unknown, path: string]> => [
    [{ subject: value }, 'subject'],
    [{ to: [GRACE, { name: value, address: 'a@b.example' }] }, 'to.1.name'],
    [{ cc: [{ address: `a${value}@b.example` }] }, 'cc.0.address'],
    [{ bcc: [{ address: `a@b${value}.example` }] }, 'bcc.0.address'],
    [{ from: { name: value, address: 'a@b.example' } }, 'from.name'],
    [{ replyTo: [{ address: `a@b.example${value}` }] }, 'replyTo.0.address'],
    [{ headers: [{ name: `X-A${value}`, value: 'x' }] }, 'headers.0.name'],
    [{ headers: [{ name: 'X-A', value }] }, 'headers.0.value'],
    [{ attachments: [{ content, filename: value }] }, 'attachments.0.filename'],
    [{ attachments: [{ content, contentId: value }] }, 'attachments.0.contentId'],
    [{ attachments: [{ content, contentType: `text/plain${value}` }] }, 'attachments.0.contentType'],
    [{ attachments: [{ content: `${content}${value}` }] }, 'attachments.0.content'],
    [{ inReplyTo: `${ID}${value}` }, 'inReplyTo'],
    [{ forwardOf: `${ID}${value}` }, 'forwardOf'],
  ]
  const signs = ['\r', '\n', '\r\n', '\0', '\u0001', '\u001b', '\u007f', '\u0085', '\t']
  test.each(signs.flatMap(sign => line(`x${sign}Bcc: y@z.example`)))(
    'refuses a control character: %j',
    (body, path) => {
      expect(pathsOf(body)).toContain(path)
      expect(pathsOf(body, draftBody)).toContain(path)
    },
  )

  test.each<[string, unknown, string]>([
    ['NUL in a text', { text: 'a\0b' }, 'text'],
    ['NUL in HTML', { html: 'a\0b' }, 'html'],
    ['a longer subject', { subject: 'x'.repeat(2001) }, 'subject'],
    ['a longer text', { text: 'x'.repeat(1_000_001) }, 'text'],
    ['a longer reference', { reference: 'x'.repeat(256) }, 'reference'],
    ['a longer name', { to: [{ name: 'x'.repeat(257), address: 'a@b.example' }] }, 'to.0.name'],
    ['an 11th address for replies', { replyTo: many(11, GRACE) }, 'replyTo'],
    ['a 501st recipient', { to: many(300, GRACE), cc: many(150, GRACE), bcc: many(51, GRACE) }, 'bcc'],
    ['501 recipients in one field', { to: many(501, GRACE) }, 'to'],
    ['a 101st attachment', { attachments: many(101, { content }) }, 'attachments'],
    ['a 51st field', { headers: many(51, { name: 'X-A', value: 'x' }) }, 'headers'],
    ['a quoted local part', { to: [{ address: '"a b"@x.example' }] }, 'to.0.address'],
    ['a comment', { to: [{ address: 'a(b)@x.example' }] }, 'to.0.address'],
    ['an address literal', { to: [{ address: 'a@[127.0.0.1]' }] }, 'to.0.address'],
    ['a group', { to: [{ address: 'a: b@x.example;' }] }, 'to.0.address'],
    ['two addresses in one', { to: [{ address: 'a@x.example, b@x.example' }] }, 'to.0.address'],
    ['a name in the address', { to: [{ address: 'A <a@x.example>' }] }, 'to.0.address'],
    ['an unknown field', { form: GRACE }, ''],
    ['an unknown field of an address', { to: [{ ...GRACE, group: 'x' }] }, 'to.0'],
    [
      'an attachment by path',
      { attachments: [{ path: '/etc/passwd' }] },
      'attachments.0 attachments.0.content',
    ],
    ['an attachment by address', { attachments: [{ content, href: 'http://localhost/' }] }, 'attachments.0'],
    ['a raw message', { raw: 'x' }, ''],
    ['an attachment without content', { attachments: [{ filename: 'x' }] }, 'attachments.0.content'],
    [
      'content and a reference',
      { attachments: [{ content, messageId: ID, attachmentId: '2' }] },
      'attachments.0.messageId attachments.0.attachmentId',
    ],
    ['a message without an attachment', { attachments: [{ messageId: ID }] }, 'attachments.0.attachmentId'],
    ['an attachment without a message', { attachments: [{ attachmentId: '2' }] }, 'attachments.0.content'],
    [
      'an inline file without an id',
      { attachments: [{ content, isInline: true }] },
      'attachments.0.contentId',
    ],
    [
      'an id twice',
      {
        attachments: [
          { content, contentId: 'a' },
          { content, contentId: 'a' },
        ],
      },
      'attachments.1.contentId',
    ],
    ['an id in angle brackets', { attachments: [{ content, contentId: '<a>' }] }, 'attachments.0.contentId'],
    ['base64 without padding', { attachments: [{ content: 'aGk' }] }, 'attachments.0.content'],
    ['padding within base64', { attachments: [{ content: 'aG==aGk=' }] }, 'attachments.0.content'],
    ['base64url', { attachments: [{ content: '__--' }] }, 'attachments.0.content'],
    [
      'a type with parameters',
      { attachments: [{ content, contentType: 'text/plain; charset=x' }] },
      'attachments.0.contentType',
    ],
    [
      'a type of several parts',
      { attachments: [{ content, contentType: 'Multipart/mixed' }] },
      'attachments.0.contentType',
    ],
    ['a field of ours', { headers: [{ name: 'Subject', value: 'x' }] }, 'headers.0.name'],
    ['Bcc as a field', { headers: [{ name: 'Bcc', value: 'x@y.example' }] }, 'headers.0.name'],
    ['our own marks', { headers: [{ name: 'x-waxwing-outbox', value: 'x' }] }, 'headers.0.name'],
    ['a field that importance sets', { headers: [{ name: 'X-Priority', value: '1' }] }, 'headers.0.name'],
    ['Importance as a field', { headers: [{ name: 'Importance', value: 'high' }] }, 'headers.0.name'],
    ['a field without a name', { headers: [{ name: 'X-', value: 'x' }] }, 'headers.0.name'],
    ['a colon in a name', { headers: [{ name: 'X-A: b', value: 'x' }] }, 'headers.0.name'],
    ['a longer value', { headers: [{ name: 'X-A', value: 'x'.repeat(999) }] }, 'headers.0.value'],
    ['an empty value', { headers: [{ name: 'X-A', value: ' ' }] }, 'headers.0.value'],
    ['a reply that forwards', { inReplyTo: ID, forwardOf: ID }, 'forwardOf'],
    ['a longer undo window', { undoSendSeconds: 61 }, 'undoSendSeconds'],
    ['a time without a zone', { sendAt: '2026-11-21T10:00:00' }, 'sendAt'],
    ['an unknown importance', { importance: 'urgent' }, 'importance'],
  ])('refuses %s', (_, body, path) => {
    expect(pathsOf(body).join(' ')).toBe(path)
  })

  test('checks 36 MiB of base64 without overflowing', () => {
    const large = 'A'.repeat(36 * 1024 * 1024)
    expect(pathsOf({ attachments: [{ content: large }] })).toEqual([])
    expect(pathsOf({ attachments: [{ content: `${large}AA\nA` }] })).toEqual(['attachments.0.content'])
  })
})

test('a draft has no fields for the time and way of sending', () => {
  for (const field of ['sendAt', 'undoSendSeconds', 'reference'])
    expect(pathsOf({ [field]: null }, draftBody)).toEqual([''])
  expect(draftSendBody.safeParse({ sendAt: null, undoSendSeconds: 5, reference: 'x' }).success).toBe(true)
  expect(draftSendBody.safeParse({ subject: 'x' }).success).toBe(false)
})
