import parseAnswer from 'imapflow/lib/handler/imap-parser.js'
import { ImapStream } from 'imapflow/lib/handler/imap-stream.js'
import type { ImapResponse, ImapStreamItem } from 'imapflow/lib/handler/types.js'
import { describe, expect, test } from 'vitest'
import { ODD_MAIL } from '../../../test/mail/odd/odd-mail.ts'
import fc from '../../../test/property.ts'
import { LITERAL_BYTES_MAX } from './expected-answers.ts'
import { FetchReader } from './fetch-reader.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const literal = (content: string) => `{${content.length}}\r\n${content}`
const isAnswer = (part: ImapResponse | Buffer): part is ImapResponse => !Buffer.isBuffer(part)

/** Imapflow as a reader: its answers, and the text of answers that it does not understand. */
function openImapflow() {
  const heard: unknown[] = []
  const stream = new ImapStream({ logger: false, maxLiteralSize: LITERAL_BYTES_MAX })
  stream.on('error', (error: Error & { code?: string }) => heard.push(error.code))
  stream.on('data', async ({ payload, literals, next }: ImapStreamItem) => {
    heard.push(await parseAnswer(payload, { literals }).catch(() => payload.toString('latin1')))
    next()
  })
  const write = (bytes: Buffer) => new Promise<void>(resolve => stream.write(bytes, () => resolve()))
  return { heard, write }
}

async function readByImapflow(bytes: Buffer) {
  const { heard, write } = openImapflow()
  await write(bytes)
  return heard
}

/** The same with the reader before it. */
async function readByBoth(chunks: readonly Buffer[]) {
  const { heard, write } = openImapflow()
  const reader = new FetchReader(() => true)
  for (const chunk of chunks) {
    for (const part of reader.read(chunk)) {
      if (isAnswer(part)) heard.push(part)
      else await write(part)
    }
  }
  return heard
}

/** The output of the reader for chunks, with the bytes between two answers as one text. */
function readParts(chunks: readonly Buffer[], reader = new FetchReader(() => true)) {
  const parts: Array<ImapResponse | string> = []
  for (const chunk of chunks) {
    for (const part of reader.read(chunk)) {
      const last = parts.at(-1)
      if (isAnswer(part)) parts.push(part)
      else if (typeof last === 'string') parts[parts.length - 1] = last + part.toString('latin1')
      else parts.push(part.toString('latin1'))
    }
  }
  return parts
}

function cutAt(bytes: Buffer, cuts: readonly number[]) {
  const ends = [...new Set(cuts.map(cut => cut % bytes.length)), 0, bytes.length].toSorted((a, b) => a - b)
  return ends.slice(1).map((end, index) => bytes.subarray(ends[index], end))
}

const USUAL: ReadonlyArray<readonly [server: string, answer: string]> = [
  [
    'Dovecot',
    `* 1 FETCH (UID 7 FLAGS (\\Seen $Forwarded) INTERNALDATE "17-Jul-1996 02:44:25 -0700" RFC822.SIZE 44 BODY[]<0> ${literal('Subject: x\r\n\r\n* 2 FETCH (UID 8)\r\n')})`,
  ],
  [
    'Cyrus',
    `* 2 FETCH (FLAGS () UID 8 INTERNALDATE " 1-Jul-1996 02:44:25 -0700" RFC822.SIZE 0 EMAILID (M1a-_) THREADID (T2b) BODY[]<0> ${literal('')})`,
  ],
  ['Gmail', '* 3 FETCH (X-GM-THRID 1278455344230334866 X-GM-MSGID 1278455344230334865 UID 9 RFC822.SIZE 5)'],
  ['Exchange', `* 4 FETCH (BODY[] ${literal('a\r\nb{3}\r\nc')} UID 10 FLAGS (\\Seen \\Answered))`],
  ['any server with mod-sequences', '* 5 FETCH (UID 11 FLAGS (\\Deleted NonJunk) MODSEQ (715194045007))'],
  ['a server without threads', '* 6 FETCH (UID 12 THREADID NIL)'],
  [
    'any server asked for a structure',
    '* 7 FETCH (UID 13 BODYSTRUCTURE (("TEXT" "PLAIN" ("CHARSET" "utf-8") NIL NIL "7BIT" 5 1)("IMAGE" "PNG" NIL NIL NIL "BASE64" 9) "MIXED"))',
  ],
]

/** Looks like an answer, but is the content of a literal. */
const INSIDE = '* 9 FETCH (UID 7)\r\n'
/** Not FETCH, not usual, or not IMAP. */
const OTHER = [
  '* 12 EXISTS',
  '* VANISHED (EARLIER) 300:310,405',
  '* OK [UIDNEXT 4392] Predicted next UID',
  '* BYE Server is shutting down',
  '+ idling',
  'A7 OK done',
  '',
  '((((',
  `* LIST () "/" ${literal(INSIDE)}`,
  `A7 NO ${literal(INSIDE)}`,
  `A7 NO {00000000000000000000000000000000000${INSIDE.length}}\r\n${INSIDE}`,
  `A7 NO {${INSIDE.length}}\n${INSIDE}`,
  '* 1 FETCH (UID 7 FLAGS (\\Seen)',
  '* 1 FETCH (UID 7))',
  '* 1 FETCH UID 7',
  '* 1 FETCH (UID 7) (UID 8)',
  '* 1 FETCH ()',
  '* 1 FETCH (UID 7 FLAGS (NIL nil \\Nil))',
  '* 1 FETCH (UID 7 FLAGS (1:2))',
  '* 1 FETCH (UID 7 FLAGS (a:b 1:2 3,4 * % \\* \\Seen\\Answered))',
  '* 1 FETCH (UID 7 X "a \\"quoted\\" text")',
  '* 1 FETCH (UID 7 X "Gr\xc3\xbc\xdfe")',
  '* 1 FETCH (UID 7 BODY[HEADER.FIELDS (DATE)] "Date: x")',
  '* 1 FETCH (UID 7 BODY[]<00> "x")',
  '* 1 FETCH (UID 7 BODY[]<0> "x" BODY[]<0>"x" BODY[])',
  `* 1 FETCH (UID 7 BODY[] ~${literal('x')})`,
  `* 1 FETCH (UID 7 BODY[] {03}\r\nabc)`,
  `* 1 FETCH (UID 7 BODY[1] ${literal('x')} BODY[2] ${literal('y')})`,
  `* 1 FETCH (X "${literal('x')}")`,
  `* 1 FETCH ${'('.repeat(30)}${')'.repeat(30)}`,
  '* 1 fetch (UID 7)',
  '* 1 FETCH  (UID 7  FLAGS ( \\Seen  ) )',
  '* 4294967296 FETCH (UID 7)',
  ' * 1 FETCH (UID 7)',
  '\0* 1 FETCH (UID 7)',
]
const TRANSCRIPT = latin1([...OTHER, ...USUAL.map(([, answer]) => answer), ''].join('\r\n'))

describe('FetchReader', () => {
  test.each(USUAL)('reads what %s sends', async (_, answer) => {
    const bytes = latin1(`${answer}\r\n`)
    const parts = readParts([bytes])
    expect(parts.map(part => typeof part)).toEqual(['object'])
    expect(parts).toEqual(await readByImapflow(bytes))
  })

  test('reads odd mail as imapflow does', async () => {
    for (const [name, { raw }] of Object.entries(ODD_MAIL)) {
      const source = raw.subarray(0, LITERAL_BYTES_MAX)
      const bytes = Buffer.concat([
        latin1(`* 1 FETCH (UID 7 BODY[]<0> {${source.length}}\r\n`),
        source,
        latin1(')\r\n'),
      ])
      const [part, ...others] = readParts(cutAt(bytes, [bytes.length >> 1]))
      expect([part, others], name).toEqual([(await readByImapflow(bytes))[0], []])
      expect(typeof part, name).toBe('object')
    }
  })

  test('leaves everything else to imapflow, in its order', async () => {
    const parts = readParts([TRANSCRIPT])
    expect(parts.filter(part => typeof part !== 'string').length).toBeGreaterThanOrEqual(USUAL.length)
    expect(await readByBoth([TRANSCRIPT])).toEqual(await readByImapflow(TRANSCRIPT))
  })

  test('reads the same with the bytes cut anywhere', () => {
    const whole = readParts([TRANSCRIPT])
    for (let cut = 1; cut < TRANSCRIPT.length; cut++) {
      expect(readParts(cutAt(TRANSCRIPT, [cut])), `cut at ${cut}`).toEqual(whole)
    }
    expect(readParts([...TRANSCRIPT].map(byte => Buffer.of(byte)))).toEqual(whole)
  })

  const word = fc.stringMatching(/^[\w\\$.:,*%~[\]<>{}"()-]{1,6}$/)
  const text = fc.oneof(fc.string({ unit: 'binary-ascii', maxLength: 12 }), fc.constantFrom(...OTHER))
  const item = fc.oneof(
    fc.tuple(fc.constantFrom('UID', 'RFC822.SIZE', 'X'), fc.nat().map(String)),
    fc.tuple(
      fc.constant('FLAGS'),
      fc.array(word, { maxLength: 4 }).map(words => `(${words.join(' ')})`),
    ),
    fc.tuple(
      fc.constantFrom('INTERNALDATE', 'X'),
      text.map(value => `"${value}"`),
    ),
    fc.tuple(fc.constantFrom('BODY[]', 'BODY[]<0>', 'BODY[]<17>', 'BODY[1]', 'X'), text.map(literal)),
    fc.tuple(word, word),
  )
  const space = fc.constantFrom(' ', ' ', ' ', '  ', '')
  const fetched = fc
    .tuple(fc.array(fc.tuple(item, space), { maxLength: 5 }), fc.constantFrom(')', ')', ')', ') ', '))', ''))
    .map(([items, end]) => {
      const list = items.map(([[name, value], gap]) => `${name} ${value}${gap}`).join('')
      return `* 3 FETCH (${list.trimEnd()}${end}`
    })
  const answer = fc.oneof(
    fetched,
    fetched,
    fc.constantFrom(...OTHER, ...USUAL.map(([, usual]) => usual)),
    text,
  )
  const answers = fc
    .array(fc.tuple(answer, fc.constantFrom('\r\n', '\r\n', '\n')), { maxLength: 8 })
    .map(lines => latin1(lines.flat().join('')))

  test('reads anything that a server may send as imapflow does', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.array(fc.nat(), { maxLength: 6 }), async (bytes, cuts) => {
        fc.pre(bytes.length > 0)
        expect(await readByBoth(cutAt(bytes, cuts))).toEqual(await readByImapflow(bytes))
      }),
      { numRuns: 1000 },
    )
  })

  test('passes on answers that are too long before it has all of them', () => {
    const begin = '* 1 FETCH (UID 7 BODY[]<0> '
    expect(readParts([latin1(`${begin}{${LITERAL_BYTES_MAX}}\r\n`)])).toEqual([])
    for (const tooLong of [
      `${begin}{${LITERAL_BYTES_MAX + 1}}\r\n`,
      `${begin}${literal('x').repeat(2000)}`,
      `* 1 FETCH (FLAGS (${'x'.repeat(4096)}`,
      `* 1 FETCH (FLAGS (${'x'.repeat(4096)}))\r\n`,
    ]) {
      expect(readParts([latin1(tooLong)])).toEqual([tooLong])
      expect(readParts([...tooLong].map(latin1))).toEqual([tooLong])
    }
  })

  test('passes on whole chunks while no FETCH is under way', () => {
    const reader = new FetchReader(() => false)
    expect([...reader.read(TRANSCRIPT)]).toEqual([TRANSCRIPT])
  })

  test('passes on together lines that cannot be FETCH answers', () => {
    const lines = latin1('\r\n((((\r\nA1 OK done\r\n'.repeat(100))
    expect([...new FetchReader(() => true).read(lines)]).toEqual([lines])
  })

  test('reads no answer after the end of the command', () => {
    let isUnderWay = true
    const reader = new FetchReader(() => isUnderWay)
    const heard: Array<ImapResponse | string> = []
    for (const part of reader.read(latin1('* 1 FETCH (UID 7)\r\nA1 OK done\r\n* 2 FETCH (UID 8)\r\n'))) {
      heard.push(isAnswer(part) ? part : part.toString('latin1'))
      if (!isAnswer(part)) isUnderWay = false
    }
    expect(heard).toEqual([
      expect.objectContaining({ command: '1' }),
      'A1 OK done\r\n',
      '* 2 FETCH (UID 8)\r\n',
    ])
  })
})
