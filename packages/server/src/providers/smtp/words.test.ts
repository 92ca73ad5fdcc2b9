import fc from '../../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { clientName } from './client-name.ts'
import { DamagedContent, stuffed } from './content.ts'
import { planEnvelope, xtext } from './envelope.ts'
import { NO_EXTENSIONS, readExtensions } from './extensions.ts'
import { planLogin } from './login.ts'
import { type Reply, ReplyReader, statusOf, wordsOf } from './reply.ts'

const readAll = (...chunks: string[]): Reply[] => {
  const reader = new ReplyReader()
  return chunks.flatMap(chunk => [...reader.read(Buffer.from(chunk))])
}

describe('ReplyReader', () => {
  test.each<[string, string[], Reply[]]>([
    ['one line', ['250 ok\r\n'], [{ code: 250, lines: ['ok'] }]],
    ['a line without a CR', ['250 ok\n'], [{ code: 250, lines: ['ok'] }]],
    ['a bare code', ['250\r\n'], [{ code: 250, lines: [''] }]],
    ['several lines', ['250-a\r\n250-b\r\n250 c\r\n'], [{ code: 250, lines: ['a', 'b', 'c'] }]],
    [
      'two replies at once',
      ['250 a\r\n550 b\r\n'],
      [
        { code: 250, lines: ['a'] },
        { code: 550, lines: ['b'] },
      ],
    ],
    ['a reply in pieces', ['25', '0-a\r', '\n250', ' b\r\n'], [{ code: 250, lines: ['a', 'b'] }]],
    ['an unfinished reply', ['250-a\r\n250'], []],
  ])('reads %s', (_, chunks, replies) => expect(readAll(...chunks)).toEqual(replies))

  test.each([
    ['no code', 'hello\r\n'],
    ['an empty line', '\r\n'],
    ['a code out of range', '199 x\r\n'],
    ['a mark that is none', '250+x\r\n'],
    ['two codes', '250-a\r\n550 b\r\n'],
    ['a line that is too long', 'x'.repeat(9000)],
    ['too many lines', '250-a\r\n'.repeat(101)],
  ])('refuses %s', (_, text) => expect(() => readAll(text)).toThrow())

  test('reads the same replies in any pieces', () => {
    const text = '220-a\r\n220 b\r\n250 c\r\n550-5.1.1 d\r\n550 5.1.1 e\r\n'
    const whole = readAll(text)
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), cuts => {
        const ends = [...new Set([0, ...cuts, text.length])].toSorted((a, b) => a - b)
        const pieces = ends.slice(1).map((end, at) => text.slice(ends[at], end))
        expect(readAll(...pieces)).toEqual(whole)
      }),
    )
  })
})

test.each([
  ['550 5.1.1 unknown', '5.1.1'],
  ['550 unknown', '5.0.0'],
  ['450 5.1.1 unknown', '4.0.0'],
  ['450 4.7.100', '4.7.100'],
  ['550 5.1.1234 x', '5.0.0'],
])('reads the status of %j as %s', (line, status) => {
  const [reply] = readAll(`${line}\r\n`)
  expect(statusOf(reply!)).toBe(status)
  expect(wordsOf(reply!)).toBe(line)
})

test.each([
  [
    ['mx', 'PIPELINING', 'size 1000', '8bitmime', 'AUTH PLAIN login', 'DSN', 'SMTPUTF8', 'STARTTLS'],
    {
      hasStartTls: true,
      hasPipelining: true,
      messageBytesMax: 1000,
      has8BitMime: true,
      hasDsn: true,
      hasSmtpUtf8: true,
      authMechanisms: ['PLAIN', 'LOGIN'],
    },
  ],
  [['mx', 'SIZE', 'AUTH=LOGIN'], { ...NO_EXTENSIONS, authMechanisms: ['LOGIN'] }],
  [['mx', 'SIZE 0'], NO_EXTENSIONS],
  [['mx', 'SIZE 99999999999999999999'], NO_EXTENSIONS],
  // The first line is the server's name, in any form.
  [['STARTTLS'], NO_EXTENSIONS],
])('reads the extensions %j', (lines, extensions) =>
  expect(readExtensions({ code: 250, lines })).toEqual(extensions),
)

const SERVER = { host: 'mx.example.com', port: 587 }

test.each([
  [{ user: 'a', password: 'b' }, ['LOGIN', 'PLAIN'], 'AUTH PLAIN \0a\0b', []],
  [{ user: 'a', password: 'b' }, ['LOGIN'], 'AUTH LOGIN ', ['a', 'b']],
  [{ user: 'a', password: 'b' }, ['XOAUTH2'], null, []],
  [
    { user: 'a,=', accessToken: 't' },
    ['XOAUTH2', 'OAUTHBEARER'],
    'AUTH OAUTHBEARER n,a=a=2C=3D,\x01host=mx.example.com\x01port=587\x01auth=Bearer t\x01\x01',
    ['\x01'],
  ],
  [
    { user: 'a', accessToken: 't' },
    ['PLAIN', 'XOAUTH2'],
    'AUTH XOAUTH2 user=a\x01auth=Bearer t\x01\x01',
    [''],
  ],
  [{ user: 'a', accessToken: 't' }, ['PLAIN'], null, []],
])('plans the login of %j by %j', (login, mechanisms, line, answers) => {
  const plan = planLogin(login, mechanisms, SERVER)
  const decode = (text: string) => Buffer.from(text, 'base64').toString()
  const [, verb = '', first = ''] = /^(AUTH \S+ ?)(.*)$/.exec(plan?.line ?? '') ?? []
  expect(plan && `${verb.trimEnd()} ${decode(first)}`).toBe(line)
  expect(plan?.answers.map(decode) ?? []).toEqual(answers)
})

test.each([
  [null, '[127.0.0.1]'],
  ['http://127.0.0.1:8025', '[127.0.0.1]'],
  ['http://localhost:8025', '[127.0.0.1]'],
  ['http://build-host', '[127.0.0.1]'],
  ['https://mail.corp.internal', '[127.0.0.1]'],
  ['https://10.1.2.3', '[127.0.0.1]'],
  ['https://[fd00::1]', '[127.0.0.1]'],
  ['https://mail.example.com/waxwing', 'mail.example.com'],
  ['https://Grün.example.com', 'xn--grn-ioa.example.com'],
  ['https://93.184.216.34', '[93.184.216.34]'],
  ['https://[2606:2800:220:1::1]', '[IPv6:2606:2800:220:1::1]'],
])('a service at %s sends EHLO %s', (baseUrl, name) => expect(clientName(baseUrl)).toBe(name))

test('writes xtext', () => expect(xtext('a+b=c <é>')).toBe('a+2Bb+3Dc+20<+E9>'))

test.each(['a@b.c\r\nRCPT TO:<x@y.z>', 'a@b.c>', 'a b@c.d', 'a@b\0c', 'nobody', `${'x'.repeat(400)}@b.c`])(
  'asks no server about %j',
  address => {
    const content = { byteLength: 1, is8Bit: false, hasUtf8Header: false, open: async function* () {} }
    const plan = planEnvelope(
      { envelope: { from: 'a@b.c', to: [address] }, content, envelopeId: '1' },
      NO_EXTENSIONS,
    )
    expect(plan.recipients).toEqual([])
    expect(plan.refused[0]?.refusal?.status).toBe('5.1.3')
    const from = { envelope: { from: address, to: ['a@b.c'] }, content, envelopeId: '1' }
    expect(planEnvelope(from, NO_EXTENSIONS).refusal?.status).toBe('5.1.7')
  },
)

test('stuffs dots so that a server reads the same content, however it is cut', async () => {
  const line = fc.string({ unit: fc.constantFrom('.', 'a', ' '), maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 5 }), async (lines, pieceBytes) => {
      const bytes = Buffer.from(lines.map(text => `${text}\r\n`).join(''))
      const content = {
        byteLength: bytes.length,
        is8Bit: false,
        hasUtf8Header: false,
        async *open() {
          for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
        },
      }
      let sent = ''
      for await (const piece of stuffed(content)) sent += Buffer.from(piece).toString()
      expect(`\r\n${sent}`).not.toContain('\r\n.\r\n')
      expect(sent.replaceAll(/^\./gm, '')).toBe(bytes.toString())
    }),
  )
})

test('lets no bytes pass that a lax server could take for the end of the message', async () => {
  const piece = fc.string({ unit: fc.constantFrom('.', '\r', '\n', '\r\n', 'a'), maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.array(piece), async pieces => {
      const bytes = pieces.map(text => Buffer.from(text))
      const content = {
        byteLength: Buffer.concat(bytes).length,
        is8Bit: false,
        hasUtf8Header: false,
        open: async function* () {
          yield* bytes
        },
      }
      let sent = '\r\n'
      try {
        for await (const stuffedPiece of stuffed(content)) sent += Buffer.from(stuffedPiece).toString()
      } catch (error) {
        expect(error).toBeInstanceOf(DamagedContent)
        return
      }
      expect(sent).not.toMatch(/[\r\n]\.[\r\n]|\r(?!\n)|(?<!\r)\n/)
    }),
    { numRuns: 10_000 },
  )
})
