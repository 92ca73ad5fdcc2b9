import fc from '../../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { generateMail } from '../../../test/mail/corpus.ts'
import { type MessageSummary, summarize } from './summary.ts'

const read = (...lines: string[]): MessageSummary => summarize(Buffer.from(lines.join('\r\n'), 'utf8'))
const readLatin1 = (...lines: string[]): MessageSummary =>
  summarize(Buffer.from(lines.join('\r\n'), 'latin1'))

describe('summarize', () => {
  test('reads three thousand generated messages of every kind as their writer meant them', () => {
    const differences: unknown[] = []
    for (const { raw, kind, expected } of generateMail({ seed: 'summaries', count: 3000 })) {
      const summary = summarize(raw)
      const { snippetStart, ...facts } = expected
      for (const [name, value] of Object.entries(facts)) {
        const found: unknown = Object.entries(summary).find(([key]) => key === name)?.[1]
        if (value !== undefined && JSON.stringify(found) !== JSON.stringify(value))
          differences.push({ kind, name, found, value })
      }
      if (snippetStart !== undefined && !summary.snippet.startsWith(snippetStart.slice(0, 150))) {
        differences.push({ kind, found: summary.snippet, value: snippetStart })
      }
    }
    expect(differences).toEqual([])
  })

  test.each([
    [
      'a folded encoded word that cuts a character in two',
      'Subject: =?utf-8?B?R3LD?=\r\n =?utf-8?B?vMOfZQ==?= all',
      'Grüße all',
    ],
    ['words in two charsets', 'Subject: =?iso-8859-1?Q?=E4?= =?utf-8?Q?=C3=A4?=', 'ää'],
    ['a word with a language', 'Subject: =?iso-8859-1*de?Q?Gr=FC=DFe?=', 'Grüße'],
    ['a word with spaces, which the RFC forbids', 'Subject: =?utf-8?Q?Hello big world?=', 'Hello big world'],
    ['a word in an unknown charset', 'Subject: =?x-nobody?Q?caf=E9?=', 'café'],
    ['Japanese', 'Subject: =?iso-2022-jp?B?GyRCRnxLXBsoQg==?=', '日本'],
    ['an unfinished word', 'Subject: =?utf-8?Q?never', '=?utf-8?Q?never'],
    ['NUL, tabs and a bell', 'Subject: a\0b\tc\u0007', 'a b c'],
    ['nothing', 'Subject:  ', null],
    ['a lone surrogate in UTF-7', 'Subject: =?utf-7?Q?+2AA-x?=', '\ufffdx'],
  ])('reads a subject with %s', (_, field, subject) => {
    expect(read(field, '', '').subject).toBe(subject)
  })

  test.each([
    ['Content-Type: multipart/report; report-type=delivery-status; boundary=x', true],
    ['Content-Type: Multipart/Report;\r\n boundary=x', true],
    ['Content-Type: multipart/reported; boundary=x', false],
    ['X-Failed-Recipients: grace@example.org', true],
    ['X-MS-Exchange-Message-Is-Ndr:', true],
    ['Auto-Submitted: auto-replied (rejected)', true],
    ['Auto-Submitted: auto-generated', false],
    ['Auto-Submitted: no', false],
    ['Return-Path: <>', true],
    ['Return-Path:  < >', true],
    ['Return-Path: <news@example.org>', false],
    ['Subject: Undelivered mail', false],
  ])('decides by "%s" whether the header is that of a report', (field, mayBeReport) => {
    expect(read(field, '', '').mayBeReport).toBe(mayBeReport)
  })

  test.each([
    ['text/calendar; method=REQUEST', true],
    ['TEXT/Calendar', true],
    ['text/plain', false],
    ['application/ics', false],
  ])('decides by a part of type "%s" whether it may be an invitation', (type, mayBeInvitation) => {
    const parts = `--b\r\n\r\nText\r\n--b\r\nContent-Type: ${type}\r\n\r\nBEGIN:VCALENDAR\r\n--b--\r\n`
    const header = 'From: ada@example.com\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n'
    expect(summarize(Buffer.from(header + parts)).mayBeInvitation).toBe(mayBeInvitation)
  })

  test('reads headers with raw bytes as UTF-8, otherwise as windows-1252', () => {
    expect(read('Subject: Grüße', '', '').subject).toBe('Grüße')
    expect(readLatin1('Subject: Gr\u00fc\u00dfe \u0080', '', '').subject).toBe('Grüße €')
  })

  test.each([
    ['Importance: High', 'high'],
    ['Importance: normal\r\nX-Priority: 1', 'high'],
    ['X-Priority: 5 (Lowest)', 'low'],
    ['X-MSMail-Priority: Low', 'low'],
    ['Priority: urgent', 'high'],
    ['Priority: non-urgent', 'low'],
    ['X-Priority: 3', 'normal'],
    ['Subject: none', 'normal'],
  ])('takes the importance from %j', (fields, importance) => {
    expect(read(fields, '', '').importance).toBe(importance)
  })

  test('collects at most a hundred references, oldest first, without its own id', () => {
    const many = Array.from({ length: 300 }, (_, index) => `<${index}@x>`).join('\r\n ')
    const summary = read(
      'Message-ID: <own@x>',
      `References: ${many} <own@x>`,
      'In-Reply-To: <299@x> (yesterday) <parent@x>',
      '',
      '',
    )

    expect(summary.references).toHaveLength(100)
    expect(summary.references[0]).toBe('<0@x>')
    expect(summary.references.at(-1)).toBe('<299@x>')
    expect(summary.inReplyTo).toEqual(['<299@x>', '<parent@x>'])
    expect(summary.references).not.toContain('<own@x>')
  })

  test('shows the first part with text, however deeply it is nested', () => {
    const message = [
      'Content-Type: multipart/mixed; boundary="b"',
      '',
      'preamble',
      '--b',
      'Content-Type: multipart/alternative; boundary="b-inner"',
      '',
      '--b-inner',
      'Content-Type: text/plain',
      '',
      '   ',
      '--b-inner',
      'Content-Type: text/html; charset=iso-8859-1',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      '<html><head><title>No</title><style>p { color: red }</style></head><body>&nbsp;<p>Gr=FC=DFe</p>an <b>al</b>le &amp; =',
      'jeden<script>alert(1)</script></body></html>',
      '--b-inner--',
      '--b',
      'Content-Type: application/pdf',
      "Content-Disposition: attachment; filename*=utf-8''%e2%82%ac.pdf",
      '',
      'JVBERi0=',
      '--b--',
      '',
    ]
    expect(read(...message)).toMatchObject({
      snippet: 'Grüße an alle & jeden',
      hasAttachments: true,
      isMultipart: true,
    })
  })

  test.each([
    [
      'an image that a text beside it may show',
      'Content-Type: image/png; name=a.png\r\nContent-ID: <a>',
      true,
    ],
    ['an inline image', 'Content-Type: image/png\r\nContent-Disposition: inline; filename=a.png', false],
    ['an attached image', 'Content-Type: image/png\r\nContent-Disposition: attachment; filename=a.png', true],
    ['a named image without a disposition', 'Content-Type: image/png; name=a.png', true],
    [
      'an inline document',
      'Content-Type: application/pdf\r\nContent-Disposition: inline; filename=a.pdf',
      true,
    ],
    ['an attachment without a name', 'Content-Type: text/plain\r\nContent-Disposition: attachment', true],
    ['a mere second text', 'Content-Type: text/plain', false],
    ['a second text with a name', 'Content-Type: text/plain; name=a.txt', true],
    ['a message', 'Content-Type: message/rfc822', true],
    ['an image without a name', 'Content-Type: image/png', true],
    ['bytes without a name', 'Content-Type: application/octet-stream', true],
    ['TNEF without a name', 'Content-Type: application/ms-tnef', true],
    ['a delivery report', 'Content-Type: message/delivery-status', false],
    ['a read receipt', 'Content-Type: message/disposition-notification', false],
    ['a complaint', 'Content-Type: message/feedback-report', false],
    ['a name in pieces', 'Content-Type: application/x; name*0=a; name*1=.bin', true],
  ])('counts attachments: %s', (_, fields, hasAttachments) => {
    const message = [
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      '',
      'text',
      '--b',
      fields,
      '',
      'x',
      '--b--',
      '',
    ]
    expect(read(...message).hasAttachments).toBe(hasAttachments)
  })

  test('never cuts a character of the snippet in two, wherever the given bytes end', () => {
    const bytes = Buffer.from(`Content-Type: text/plain; charset=utf-8\r\n\r\n${'😀é'.repeat(150)}`)
    for (let length = bytes.length - 12; length <= bytes.length; length++) {
      const { snippet } = summarize(bytes.subarray(0, length), true)
      expect(snippet.isWellFormed()).toBe(true)
      expect(snippet).not.toContain('\ufffd')
      expect(snippet.length).toBeLessThanOrEqual(200)
    }
    const short = summarize(Buffer.from('Subject: x\r\n\r\nGrüß').subarray(0, -1), true)
    expect(short.snippet).toBe('Grü')
  })

  test.each([
    ['one accent at the end', 'Caf\xe9', 'Café'],
    ['an accent before the line end', 'Caf\xe9\r\n', 'Café'],
    ['three accents at the end', 'na\xef\xe9\xe8', 'naïéè'],
    ['quotes at the end', '\x93Hello\x94', '“Hello”'],
  ])('keeps the last characters of short text in 8 bits without a charset: %s', (_, body, snippet) => {
    const raw = Buffer.from(`Subject: x\r\n\r\n${body}`, 'latin1')
    expect(summarize(raw).snippet).toBe(snippet)
  })

  test.each([
    ['a byte that continues', 'Hello\x94', 'Hello”'],
    ['a byte that begins nothing', 'Hello\xff', 'Helloÿ'],
    ['a whole character and a byte too many', 'Hello\xc3\xa9\xa9', 'HelloÃ©©'],
    ['half a character of UTF-8', 'Hello\xf0\x9f\x98', 'Hello'],
  ])('treats %s at the end of the given bytes as cut only if UTF-8 could continue', (_, body, snippet) => {
    expect(summarize(Buffer.from(`Subject: x\r\n\r\n${body}`, 'latin1'), true).snippet).toBe(snippet)
  })

  test('shows U+FFFD for what is broken at the end of a whole message', () => {
    const raw = Buffer.from('Content-Type: text/plain; charset=utf-8\r\n\r\nHello\xc3', 'latin1')
    expect(summarize(raw).snippet).toBe('Hello\ufffd')
  })

  test.each([
    [
      'a head that is never closed',
      '<html><head><meta charset=utf-8><title>No</title><p>Hello</p><p>there',
      'Hello there',
    ],
    ['a head that ends only at text', '<head><title>No</title>Hello', 'Hello'],
    ['a head with a style sheet, never closed', '<head><style>p {}</style><link rel=x><div>Hello', 'Hello'],
    ['a correct head', '<head><title>No</title><style>p</style></head><body>Hello', 'Hello'],
    ['a head in a comment only', '<!-- <head> --><p>Hello', 'Hello'],
    ['noscript', '<body><noscript><p>Hello</p></noscript> there', 'Hello there'],
    [
      'data for Outlook',
      '<head><noscript><xml><o:PixelsPerInch>96</o:PixelsPerInch></xml></noscript></head>Hello',
      'Hello',
    ],
    ['a script', '<script>no()</script>Hello', 'Hello'],
  ])('shows the same text as a mail program for HTML with %s', (_, html, snippet) => {
    expect(read('Content-Type: text/html', '', html).snippet).toBe(snippet)
  })

  test('drops characters with which senders pad previews', () => {
    expect(
      read(
        'Content-Type: text/html',
        '',
        `<div>Sale${'&nbsp;&zwnj;&#847;\u200c '.repeat(100)}</div><p>now</p>`,
      ).snippet,
    ).toBe('Sale now')
  })
})

const HOSTILE: Array<[name: string, text: (size: number) => string]> = [
  ['opening brackets', size => `To: ${'<'.repeat(size)}`],
  ['quotes that never end', size => `To: ${'"\\"'.repeat(size / 3)}`],
  ['quoted local parts that never end', size => `To: ${'<"'.repeat(size / 2)}`],
  ['comments that never end', size => `To: ${'('.repeat(size)}`],
  ['nested comments', size => `To: ${'('.repeat(size / 2)}${')'.repeat(size / 2)}`],
  ['commas', size => `To: ${','.repeat(size)}`],
  ['signs at', size => `To: ${'@'.repeat(size)}`],
  ['colons of a literal', size => `To: ${'a'.repeat(size / 2)}@[${':'.repeat(size / 2)}`],
  ['groups', size => `To: ${'a:'.repeat(size / 2)}`],
  ['addresses', size => `To: ${'a@b.c,'.repeat(size / 6)}`],
  ['words without commas', size => `To: ${'a '.repeat(size / 2)}`],
  ['fields To', size => 'To: a\r\n'.repeat(size / 7)],
  ['beginnings of encoded words', size => `Subject: ${'=?a?Q?'.repeat(size / 6)}`],
  ['signs of encoded words', size => `Subject: ${'=?'.repeat(size / 2)}`],
  ['encoded words', size => `Subject: ${'=?utf-8?Q?=41?= '.repeat(size / 16)}`],
  [
    'encoded words of changing charsets',
    size => `Subject: ${'=?utf-8?Q?a?= =?iso-8859-1?Q?b?= '.repeat(size / 32)}`,
  ],
  ['white space', size => `Subject: ${' '.repeat(size)}x`],
  ['lines without a colon', size => 'aaaaaaaa\r\n'.repeat(size / 10)],
  ['folded lines', size => `Subject: x${'\r\n '.repeat(size / 3)}y`],
  ['semicolons', size => `Content-Type: text/plain${';'.repeat(size)}`],
  ['parameters', size => `Content-Type: text/plain${';a*0=b'.repeat(size / 6)}`],
  ['references', size => `References: ${'<a@b>'.repeat(size / 5)}`],
  ['brackets in references', size => `References: ${'<'.repeat(size)}`],
  ['parentheses in the date', size => `Date: ${'('.repeat(size)}`],
  ['boundaries', size => `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n'.repeat(size / 5)}`],
  ['nested multiparts', size => 'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n'.repeat(size / 52)],
  [
    'nested multiparts of growing boundaries',
    size =>
      Array.from(
        { length: size / 60 },
        (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
      ).join(''),
  ],
  ['tags that never end', size => `Content-Type: text/html\r\n\r\n${'<a'.repeat(size / 2)}`],
  ['comments of HTML that never end', size => `Content-Type: text/html\r\n\r\n${'<!--'.repeat(size / 4)}`],
  ['styles that never end', size => `Content-Type: text/html\r\n\r\n${'<style>'.repeat(size / 7)}`],
  ['empty styles', size => `Content-Type: text/html\r\n\r\n${'<style></style>'.repeat(size / 15)}`],
  ['ampersands', size => `Content-Type: text/html\r\n\r\n${'&'.repeat(size)}`],
  ['blanks in HTML', size => `Content-Type: text/html\r\n\r\n${'<b> </b>'.repeat(size / 8)}`],
  ['blanks and joiners', size => `\r\n${'\u200c '.repeat(size / 4)}`],
  ['equals signs', size => `Content-Transfer-Encoding: quoted-printable\r\n\r\n${'='.repeat(size)}`],
]

/**
 * Maximum time for the slowest input, in passes over eight million characters: about 100 ms if such a pass takes 10 ms.
 */
const PASSES_MAX = 12
const MEASURES_MAX = 3

function cpuMsOf(work: () => void): number {
  const begun = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(begun)
  return (user + system) / 1000
}

/** Makes a pass over a text, character by character, to measure how fast this machine is right now. */
function passOver(text: string): number {
  let lines = 0
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === 10) lines++
  return lines
}

describe('a hostile message', () => {
  const yardstick = 'A line of words.\n'.repeat(500_000)

  test.each(HOSTILE)('of %s takes no longer than a few passes over a text', (_, text) => {
    for (const size of [64 * 1024, 1024 * 1024]) {
      const bytes = Buffer.from(text(size))
      // A garbage collection or a slow moment of the machine spoils one measurement, but not three.
      const ratios = Array.from({ length: MEASURES_MAX }, () => {
        const passMs = cpuMsOf(() => void passOver(yardstick))
        return cpuMsOf(() => void summarize(bytes)) / passMs
      })
      expect(Math.min(...ratios)).toBeLessThan(PASSES_MAX)
    }
  })

  test('of random bytes is summarised within the limits', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '\r\n',
        '\n',
        ' ',
        '"',
        '<',
        '>',
        '(',
        ')',
        '@',
        ',',
        ';',
        ':',
        '\\',
        '=?utf-8?B?',
        '?=',
        '--b',
        '<style',
        '&#0;',
        '\0',
        '=',
        '\u00ff',
      ),
      fc.constantFrom(
        'From: ',
        'To: ',
        'Subject: ',
        'Date: ',
        'References: ',
        'Content-Type: multipart/mixed; boundary=b\r\n',
        'Content-Type: text/html\r\n',
        '\r\n\r\n',
      ),
      fc.string({ unit: 'binary' }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), pieces => {
        const summary = summarize(Buffer.from(pieces.join(''), 'latin1'))
        const text = JSON.stringify(summary)
        expect(text).not.toContain(String.raw`\u0000`)
        expect(text).not.toMatch(/\\ud[89a-f]/i)
        expect(summary.snippet.length).toBeLessThanOrEqual(200)
        for (const { address } of [...summary.to, ...summary.cc]) expect(address.length).toBeGreaterThan(0)
      }),
      { numRuns: 2000 },
    )
  })
})
