import { describe, expect, test } from 'vitest'
import { type ForeignDraft, prepareForeignDraft } from '../../src/features/sending/compose/foreign-draft.ts'
import { parse } from '../bodies/facts.ts'
import { readCopy, readWire, store } from './read-composed.ts'

const SEND = {
  internetMessageId: '<new@example.com>',
  outboxId: '01a1fc14-5d3e-7c50-9b1d-4d6f2a8e7b90',
  unsubscribeUrlOf: null,
  wireHtml: null,
  date: new Date(0),
  from: { name: 'Ada', address: 'ada@example.com' },
  ownAddresses: new Set(['ada@example.com', 'lovelace@xn--bcher-kva.example']),
}

function prepare(
  draft: string,
  wireHtml: ((html: string) => string) | null = null,
): Promise<ForeignDraft | null> {
  const content = Buffer.from(draft.replaceAll(/(?<!\r)\n/g, '\r\n'))
  return prepareForeignDraft(
    async function* () {
      for (let at = 0; at < content.length; at += 9) yield content.subarray(at, at + 9)
    },
    { ...SEND, wireHtml: wireHtml && (async html => wireHtml(html)) },
  )
}

const wireOf = async (draft: ForeignDraft | null, hasSmtpUtf8 = false) =>
  (await readWire(await store(draft!), { has8BitMime: true, hasSmtpUtf8 })).raw.toString()

const DRAFT = `X-Priority: 3
Message-ID: <old@example.com>
Date: Mon, 1 Jan 2001 00:00:00 +0000
X-Waxwing-Outbox: forged
x-waxwing-draft: a generation=3
From: "Ada, L." <ada@example.com>
To: Grace
 <grace@example.org>, "x, y" <z@example.org>
Bcc: Hidden
 <h@example.net>
Subject: =?utf-8?q?Hi?=  there
X-Mozilla-Draft-Info: internal/draft; vcard=0
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=zz

preamble
--zz
Content-Type: text/plain; charset=utf-8; format=flowed
Content-Transfer-Encoding: 8bit

Hüllo \n--zz
Content-Type: text/html

<p>x</p>
--zz--
`

describe('a draft of another client', () => {
  test('is sent as it is, but for Date, Message-ID, Bcc and our fields', async () => {
    const draft = await prepare(DRAFT)
    const kept = DRAFT.replace(/Message-ID:.*\n/, '')
      .replace(/\nDate:.*/, '')
      .replaceAll(/X-Waxwing-.*\n/gi, '')
      .replace(/Bcc:.*\n.*\n/, '')
      .replaceAll('\n', '\r\n')
    expect(await wireOf(draft)).toBe(
      'Date: Sat, 21 Nov 2026 09:08:07 +0000\r\nMessage-ID: <new@example.com>\r\n' +
        `X-Waxwing-Outbox: ${SEND.outboxId}\r\n${kept}`,
    )
    expect(draft!.people).toEqual({
      from: [{ name: 'Ada, L.', address: 'ada@example.com' }],
      to: [
        { name: 'Grace', address: 'grace@example.org' },
        { name: 'x, y', address: 'z@example.org' },
      ],
      cc: [],
      bcc: [{ name: 'Hidden', address: 'h@example.net' }],
      replyTo: [],
    })
    expect(draft!.unreadable).toEqual([])
    expect(draft!.layout.is8Bit).toBe(true)
    const copy = await readCopy(await store(draft!))
    expect(copy.toString()).toMatch(/^Bcc: Hidden\r\n <h@example\.net>\r\nDate: /)
  })

  test.each([
    ['to', 'To: "a b"@example.org'],
    ['to', 'To: grace@[127.0.0.1]'],
    ['to', 'To: grace@example.org, nobody'],
    ['cc', 'Cc: a@b@example.org'],
    ['bcc', 'Bcc: x@localhost'],
    ['from', 'From: root'],
    ['from', 'From: ada@example.com, grace@example.org'],
    ['from', 'From: ada@example.com\nFrom: grace@example.org'],
    ['from', 'From: undisclosed:;'],
    ['to', `To${' '.repeat(40)}: grace@example.org`],
    ['replyTo', 'Reply-To: ada@example.com\nReply-To: grace@example.org'],
    ['to', `To: ${'grace@example.org, '.repeat(4000)}x@example.org`.replaceAll(/(.{900}),/g, '$1,\n')],
  ])('names %s if its addresses cannot be read, or not in one way', async (field, line) => {
    expect((await prepare(`${line}\nSubject: x\n\nHi\n`))!.unreadable).toEqual([field])
  })

  test('gets a From and a To if it has none', async () => {
    const draft = await prepare('Bcc: h@example.net\n\nHi\n')
    const raw = await wireOf(draft)
    expect(raw).toContain('\r\nFrom: Ada <ada@example.com>\r\n')
    expect(raw).toContain('\r\nTo: undisclosed-recipients:;\r\n')
    expect(raw).not.toContain('h@example.net')
  })

  test('is sent without fields of its former delivery', async () => {
    const raw = await wireOf(
      await prepare(
        'Return-Path: <x@example.net>\nRESENT-From: x@example.net\nResent-Message-ID:\n <1@example.net>\n' +
          'Resent-To : y@example.net\nresent-bcc: z@example.net\nTo: a@example.org\nX-Resent-From: kept\n\nHi\n',
      ),
    )
    expect(raw).not.toContain('example.net')
    expect(raw).toContain('\r\nTo: a@example.org\r\nX-Resent-From: kept\r\n\r\nHi\r\n')
    const copy = await readCopy(await store((await prepare('Resent-Bcc: z@x.test\nTo: a@x.org\n\nHi\n'))!))
    expect(copy.toString()).not.toContain('z@x.test')
  })

  test.each([
    ['the account', 'Ada <ADA@example.com>', true],
    ['an identity', '=?utf-8?q?L?= <lovelace@bücher.example>', true],
    ['somebody else', 'Ada <mallory@example.net>', false],
    ['somebody beside the account', 'ada@example.com, mallory@example.net', false],
    ['somebody in the name of the account', '"ada@example.com" <mallory@example.net>', false],
    ['nobody', 'undisclosed:;', false],
  ])('whose Sender is %s keeps it only if that is the account', async (_, sender, isKept) => {
    const draft = await prepare(`sender : ${sender}\nTo: a@example.org\n\nHi\n`)
    const raw = await wireOf(draft, true)
    expect(/^sender/im.test(raw)).toBe(isKept)
    if (isKept) expect(raw).toContain(`sender : ${sender}\r\n`)
  })

  test('has no way to hide Bcc from us', async () => {
    for (const name of ['BCC', 'bcc ', 'Bcc\t', 'Resent-Bcc']) {
      const raw = await wireOf(await prepare(`To: a@example.org\n${name}: h@example.net\n\nHi\n`))
      expect(raw).not.toContain('h@example.net')
    }
  })

  test('keeps fields beyond ASCII for servers that take them, and encodes them for others', async () => {
    const draft = await prepare('To: Gräce <grace@example.org>\nSubject: Grüße\n\nHi\n')
    const utf8 = await readWire(await store(draft!), { hasSmtpUtf8: true })
    expect(utf8.hasUtf8Header).toBe(true)
    expect(utf8.raw.toString()).toContain('To: Gräce <grace@example.org>\r\nSubject: Grüße\r\n')
    expect(await wireOf(draft)).toContain(
      'To: =?UTF-8?B?R3LDpGNl?= <grace@example.org>\r\nSubject: =?UTF-8?B?R3LDvMOfZQ==?=\r\n',
    )
  })

  test.each([
    ['its header has no end', 'A: b\n'.repeat(80_000)],
    ['a line of its header is too long', `A: ${'b'.repeat(2000)}\n\nHi\n`],
    [
      'something signed has a line that is too long',
      `Content-Type: multipart/signed; boundary=b\n\n--b\n\n${'x'.repeat(2000)}\n--b--\n`,
    ],
  ])('cannot be sent if %s', async (_, draft) => {
    expect(await prepare(draft)).toBeNull()
  })

  test('is encoded where SMTP cannot carry it at all', async () => {
    const raw = await wireOf(await prepare(`Subject: x\n\n${'y'.repeat(2000)}\n`))
    expect(raw).toContain('Content-Transfer-Encoding: quoted-printable\r\n\r\nyyy')
    expect(raw.split('\r\n').every(line => line.length <= 998)).toBe(true)
  })
})

describe('the HTML of a draft', () => {
  const tracked = (html: string) => `${html.replace('http://x/', 'https://links/t/c/1')}<img>`
  const root = (encoding: string, body: string, charset = 'utf-8') =>
    `From: ada@example.com\nTo: grace@example.org\nSubject: x\nMIME-Version: 1.0\n` +
    `Content-Type: text/html; charset=${charset}\n${encoding}\n${body}`
  const HTML = '<p>é <a href="http://x/">x</a></p>'

  /** The message for its recipients, and as it is filed with tracking and without. */
  async function read(draft: string) {
    const plain = await prepare(draft)
    const changed = await prepare(draft, tracked)
    const [wire, copy, before] = await Promise.all([
      readWire(await store(changed!), { has8BitMime: true, hasSmtpUtf8: true }),
      readCopy(await store(changed!)),
      readCopy(await store(plain!)),
    ])
    return { wire: wire.raw, copy: copy.toString('latin1'), before: before.toString('latin1') }
  }

  test.each([
    ['in a part among others', DRAFT.replace('<p>x</p>', HTML)],
    [
      'encoded in quoted-printable',
      root('Content-Transfer-Encoding: quoted-printable\n', '<p>=C3=A9 <a href=3D"http://x/">=\nx</a></p>\n'),
    ],
    [
      'encoded in base64',
      root('Content-Transfer-Encoding: BASE64\n', `${Buffer.from(HTML).toString('base64')}\n`),
    ],
    ['as it is', root('Content-Transfer-Encoding: 8bit\n', `${HTML}\n`)],
    ['without an encoding', root('', `${HTML}\n`)],
    ['that ends without a line break', root('', HTML)],
    ['of an unknown charset that is UTF-8', root('', HTML, 'us-ascii')],
  ])('%s changes for the wire, and stays in the copy', async (_, draft) => {
    const { wire, copy, before } = await read(draft)
    expect(copy).toBe(before)
    expect(parse(wire).html?.trim()).toBe(tracked(HTML))
    expect(copy).not.toContain('links')
    expect(wire.toString('latin1').match(/^content-transfer-encoding: quoted-printable/gim)).toHaveLength(1)
  })

  test('of another charset keeps its bytes', async () => {
    const body = '<p>\xe9\xa4 <a href="http://x/">\x80</a></p>'
    const draft = root(
      'Content-Transfer-Encoding: quoted-printable\n',
      `${body.replaceAll('=', '=3D').replaceAll(/[\x80-\xff]/g, character => `=${character.charCodeAt(0).toString(16).toUpperCase()}`)}\n`,
      'windows-1252',
    )
    const { wire } = await read(draft)
    expect(parse(wire).html?.trim()).toBe(tracked('<p>é¤ <a href="http://x/">€</a></p>'))
  })

  test.each([
    ['is text', DRAFT.replace('text/html', 'text/plain')],
    ['is signed', DRAFT.replace('multipart/alternative', 'multipart/signed').replace('Hüllo', 'Hullo')],
    [
      'is attached',
      DRAFT.replace('text/html', 'text/html\nContent-Disposition: attachment; filename=x.html'),
    ],
    [
      'is that of an attached message',
      root('', '').replace('text/html', 'message/rfc822') + 'Content-Type: text/html\n\n<p>x</p>',
    ],
    ['has a charset that cannot be written again', root('', HTML, 'utf-7')],
  ])('is not touched where it %s', async (_, draft) => {
    let calls = 0
    const changed = await prepare(draft, html => `${html}${calls++}`)
    expect(calls).toBe(0)
    expect(await readCopy(await store(changed!))).toEqual(
      await readCopy(await store((await prepare(draft))!)),
    )
  })
})
