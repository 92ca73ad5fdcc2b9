import { describe, expect, test } from 'vitest'
import { AttachmentChanged, AttachmentsTooLarge } from '../../src/features/sending/compose/attached.ts'
import { composeMessage } from '../../src/features/sending/compose/compose.ts'
import { type Composition } from '../../src/features/sending/compose/composition.ts'
import { type StoredContent, wireForm } from '../../src/features/sending/compose/stored-content.ts'
import { contentOf, parse } from '../bodies/facts.ts'
import { seeded } from '../seeded.ts'
import { hostileBody, hostileComposition } from './hostile-compositions.ts'
import { collect, HANDED_OVER, readWire, store } from './read-composed.ts'
import { openSlicedWork } from '../../src/kit/sliced-work.ts'

const inSlices = openSlicedWork()('a')

const ADA = { name: 'Ada Lovelace', address: 'ada@example.com' }
const GRACE = { name: 'Grace Hopper', address: 'grace@example.org' }

function composition(changes: Partial<Composition> = {}): Composition {
  return {
    internetMessageId: '<one@example.com>',
    outboxId: '01a1fc14-5d3e-7c50-9b1d-4d6f2a8e7b90',
    draftMark: null,
    unsubscribeUrl: null,
    wireHtml: null,
    date: new Date(0),
    from: ADA,
    to: [GRACE],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Figures',
    inReplyTo: null,
    references: [],
    importance: null,
    headers: [],
    text: 'Here they are.',
    html: null,
    signature: null,
    calendar: null,
    attachments: [],
    ...changes,
  }
}

async function wireOf(changes: Partial<Composition>): Promise<string> {
  const stored = await store(await composeMessage(composition(changes), inSlices))
  return (await readWire(stored)).raw.toString('latin1')
}

describe('composeMessage', () => {
  test('names nobody where all recipients are in Bcc', async () => {
    const raw = await wireOf({ to: [], bcc: [GRACE] })
    expect(raw).toContain('\r\nTo: undisclosed-recipients:;\r\n')
    expect(raw).not.toContain('grace')
  })

  test('puts no field of recipients into a draft without any', async () => {
    const raw = await wireOf({ to: [], outboxId: null, draftMark: 'x generation=1' })
    expect(raw).not.toMatch(/^(?:To|Cc|Bcc|X-Waxwing-Outbox):/m)
    expect(raw).toMatch(/^X-Waxwing-Draft: x generation=1\r$/m)
  })

  test.each([
    ['a name', { from: { name: 'A\r\nBcc: x@example.net', address: ADA.address } }, /^Bcc:/m],
    ['a subject', { subject: 'A\r\nBcc: x@example.net' }, null],
    ['a value', { headers: [{ name: 'X-A', value: 'a\nBcc: x@example.net' }] }, null],
    ['a name of a field', { headers: [{ name: 'X-A: b\r\nBcc', value: 'x@example.net' }] }, null],
    ['an address', { to: [{ name: null, address: 'a@example.net>\r\nBcc: <x@example.net' }] }, null],
    ['a Message-ID', { internetMessageId: '<a@b>\r\nBcc: x@example.net' }, null],
    ['a reference', { references: ['<a@b>\nBcc: x@example.net'] }, null],
  ] satisfies Array<[string, Partial<Composition>, RegExp | null]>)(
    'lets no line break of %s begin a field',
    async (_, changes, absent) => {
      if (absent) expect(await wireOf(changes)).not.toMatch(absent)
      else await expect(wireOf(changes)).rejects.toThrow('control characters')
    },
  )

  test('signs text after the line of dashes, and HTML before its end', async () => {
    const stored = await store(
      await composeMessage(
        composition({
          text: null,
          html: '<html><body><p>Hello</p></BODY></html>',
          signature: { html: '<b>Ada</b>', text: 'Ada\nAnalyst' },
        }),
        inSlices,
      ),
    )
    const { text, html } = parse((await readWire(stored)).raw)
    expect(text).toBe('Hello\n\n-- \nAda\nAnalyst')
    expect(html).toBe('<html><body><p>Hello</p><div><b>Ada</b></div></BODY></html>')
  })

  test.each([
    [{ text: 'Hi', html: null }, { text: null, html: '<b>Ada</b>' }, 'Hi\n\n-- \nAda\n', null],
    [{ text: '', html: null }, { text: 'Ada', html: null }, '-- \nAda\n', null],
    [
      { text: 'Hi\n\n', html: '<p>Hi' },
      { text: 'A<\nB', html: null },
      'Hi\n\n-- \nA<\nB',
      '<p>Hi<div>A&lt;<br>\nB</div>',
    ],
    [{ text: 'Hi', html: null }, { text: '', html: null }, 'Hi\n', null],
  ])('signs %j with %j', async (body, signature, text, html) => {
    const stored = await store(await composeMessage(composition({ ...body, signature }), inSlices))
    const read = parse((await readWire(stored)).raw)
    expect([read.text, read.html]).toEqual([text, html])
  })

  test('has the iCalendar object as the last alternative, whatever it holds', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const random = seeded(`calendar ${seed}`)
      const text = `BEGIN:VCALENDAR\r\n${hostileBody(random)}\r\nEND:VCALENDAR\r\n`.replaceAll(
        /\r\n|\r|\n/g,
        '\r\n',
      )
      const asked = composition({ html: '<p>x</p>', calendar: { method: 'REPLY', text } })
      const { raw } = await readWire(await store(await composeMessage(asked, inSlices)))
      const [part, ...others] = parse(raw).attachments
      expect(others).toEqual([])
      expect(part).toMatchObject({ contentType: 'text/calendar' })
      expect(contentOf(raw, part!).toString('utf8')).toBe(text.toWellFormed())
      const types = [...raw.toString('latin1').matchAll(/^Content-Type: (\S+?);/gm)].map(([, type]) => type)
      expect(types).toEqual(['multipart/alternative', 'text/plain', 'text/html', 'text/calendar'])
    }
  })

  test('announces the exact length if all lengths are known', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const asked = hostileComposition(seeded(`length ${seed}`))
      const composed = await composeMessage(asked, inSlices)
      const { length } = await collect(composed.open())
      const isKnown = asked.attachments.every(file => file.byteLength !== null)
      expect(composed.byteLength).toBe(isKnown ? length : null)
    }
  })

  test('attaches a message as it is, but for line ends and for parts beyond ASCII', async () => {
    const inner =
      'Subject: inner\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\nhüllo\n.\n'
    const raw = await wireOf({ attachments: [memoryFile('message/rfc822', Buffer.from(inner))] })
    expect(raw).toContain(
      'Content-Type: message/rfc822\r\nContent-Transfer-Encoding: 7bit\r\n' +
        'Content-Disposition: attachment\r\n\r\nSubject: inner\r\n' +
        'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n' +
        'h=C3=BCllo\r\n=2E\r\n',
    )
  })

  test.each([
    ['its own header', 'Subject: h\xc3\xbcllo\n\nx\n'],
    ['the header of a message within it', 'Content-Type: message/rfc822\n\nSubject: h\xc3\xbcllo\n\nx\n'],
    [
      'the header of a part',
      'Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Disposition: inline; filename="h\xc3\xbcllo"\n\nx\n--b--\n',
    ],
  ])('attaches a message that is beyond ASCII in %s as 8bit, and asks for 8BITMIME', async (_, inner) => {
    const attached = memoryFile('message/rfc822', Buffer.from(inner, 'latin1'))
    const stored = await store(await composeMessage(composition({ attachments: [attached] }), inSlices))
    const { raw, is8Bit } = await readWire(stored, { has8BitMime: true })
    const text = raw.toString('latin1')
    expect(is8Bit).toBe(true)
    expect(text).toContain(
      `Content-Type: message/rfc822\r\nContent-Transfer-Encoding: 8bit\r\nContent-Disposition: attachment\r\n\r\n${inner.replaceAll('\n', '\r\n')}`,
    )
    expect(text).toMatch(
      /Content-Type: multipart\/mixed;\r\n boundary="[^"]+"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n/,
    )
  })

  test('attaches what only claims to be a message as a file', async () => {
    const content = Buffer.concat([Buffer.from('Subject: a\0b\r\n\r\nx\r\n'), Buffer.alloc(2000, 'y')])
    const stored = await store(
      await composeMessage(composition({ attachments: [memoryFile('message/rfc822', content)] }), inSlices),
    )
    const { raw } = await readWire(stored)
    const [attachment] = parse(raw).attachments
    expect(attachment?.contentType).toBe('application/octet-stream')
    expect(contentOf(raw, attachment!)).toEqual(content)
  })

  test.each([
    ['a type of several parts', { contentType: 'multipart/mixed' }],
    ['a type that must not be encoded', { contentType: 'message/external-body' }],
    ['no type', { contentType: 'nonsense' }],
    ['an id with a bracket', { contentId: 'a>\r\nBcc: x@example.net' }],
    ['an id that no line can hold', { contentId: 'a'.repeat(1000) }],
    ['a line break in its name', { filename: 'a\r\nBcc: x@example.net' }],
  ])('attaches a file of another message that has %s', async (_, traits) => {
    const attached = { ...memoryFile('application/pdf', Buffer.from('abc')), ...traits }
    const raw = Buffer.from(await wireOf({ html: '<p>x</p>', attachments: [attached] }), 'latin1')
    const [part, ...others] = parse(raw).attachments
    expect(others).toEqual([])
    expect(contentOf(raw, part!).toString()).toBe('abc')
    expect(part!.contentId).toBeNull()
    expect(raw.toString()).not.toMatch(/^Bcc:/m)
    expect(
      raw
        .toString()
        .split('\r\n')
        .every(line => line.length <= 998),
    ).toBe(true)
  })

  test('keeps a signed message that is beyond ASCII, and marks its body as 8-bit', async () => {
    const signed =
      'Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nhüllo\r\n--b--\r\n'
    const composed = await composeMessage(
      composition({ attachments: [memoryFile('message/rfc822', Buffer.from(signed))] }),
      inSlices,
    )
    expect(composed.layout.is8Bit).toBe(true)
    const { raw, is8Bit } = await readWire(await store(composed))
    expect(raw.toString()).toContain(signed)
    expect(is8Bit).toBe(true)
  })

  test('stops reading attachments that are over the limit', async () => {
    let produced = 0
    const endless = {
      ...memoryFile('application/zip', Buffer.alloc(0)),
      byteLength: null,
      async *open() {
        for (;;) {
          produced += 1024 * 1024
          yield Buffer.alloc(1024 * 1024)
        }
      },
    }
    const composed = await composeMessage(composition({ attachments: [endless] }), inSlices)
    await expect(collect(composed.open())).rejects.toThrow(AttachmentsTooLarge)
    expect(produced).toBe(26 * 1024 * 1024)
    const two = [
      memoryFile('application/zip', Buffer.alloc(20 * 1024 * 1024)),
      memoryFile('a/b', Buffer.alloc(6 * 1024 * 1024)),
    ]
    const both = await composeMessage(composition({ attachments: two }), inSlices)
    await expect(collect(both.open())).rejects.toThrow(AttachmentsTooLarge)
  })

  test('may be read again, whatever was read before', async () => {
    const message = Buffer.from(`Subject: x\r\n\r\n${'line\r\n'.repeat(2_600_000)}`)
    const attachments = [memoryFile('message/rfc822', message), memoryFile('a/b', Buffer.alloc(5_000_000))]
    const composed = await composeMessage(composition({ attachments }), inSlices)
    const first = await collect(composed.open())
    expect((await collect(composed.open())).equals(first)).toBe(true)
  })

  test('does not announce a length that an attachment no longer has', async () => {
    const changed = { ...memoryFile('a/b', Buffer.from('abc')), byteLength: 4 }
    const composed = await composeMessage(composition({ attachments: [changed] }), inSlices)
    await expect(collect(composed.open())).rejects.toThrow(AttachmentChanged)
  })

  test('never holds much of a large attachment', async () => {
    const piece = Buffer.alloc(64 * 1024, 'x')
    const pieces = (25 * 1024 * 1024) / piece.length
    let given = 0
    const large = {
      ...memoryFile('application/zip', piece),
      byteLength: piece.length * pieces,
      async *open() {
        for (; given < pieces; given++) yield piece
      },
    }
    const composed = await composeMessage(composition({ attachments: [large] }), inSlices)
    const stored = { layout: composed.layout, byteLength: composed.byteLength!, open: () => composed.open() }
    let taken = 0
    let heldMost = 0
    const form = await readWireUnread(stored)
    for await (const bytes of form.open()) {
      taken += bytes.length
      heldMost = Math.max(heldMost, given * piece.length - taken * 0.73)
    }
    expect(taken).toBe(form.byteLength)
    expect(heldMost).toBeLessThan(512 * 1024)
  })
})

const readWireUnread = (stored: StoredContent) =>
  wireForm(stored, { date: HANDED_OVER, has8BitMime: false, hasSmtpUtf8: false, hasBcc: false })

function memoryFile(contentType: string, content: Buffer) {
  return {
    filename: null,
    contentType,
    contentId: null,
    isInline: false,
    byteLength: content.length,
    async *open() {
      yield content
    },
  }
}
