import { describe, expect, test } from 'vitest'
import { seeded } from '../../../test/seeded.ts'
import { refitMessage, staysBeyondAscii, surveyMessage } from './refit.ts'

async function* inPieces(content: Buffer, pieceBytes: number) {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes)
}

async function refit(content: string, allows8Bit = false, pieceBytes = 5) {
  const source = Buffer.from(content, 'latin1')
  const survey = await surveyMessage(inPieces(source, pieceBytes))
  let text = ''
  for await (const bytes of refitMessage(inPieces(source, pieceBytes), survey, { allows8Bit }))
    text += bytes.toString('latin1')
  return { text, survey, is8Bit: staysBeyondAscii(survey, { allows8Bit }) }
}

const crlf = (text: string) => text.replaceAll('\n', '\r\n')

describe('refitMessage', () => {
  test.each([
    ['a message that is fit', 'A: b\n\nHello\n', 'A: b\n\nHello\n'],
    ['a message without a body', 'A: b\n', 'A: b\n'],
    ['a message without a header', '\nHello', '\nHello'],
    ['nothing', '', ''],
    [
      'a text beyond ASCII',
      'Content-Type: text/plain;\n charset=latin1\nContent-Transfer-Encoding:\n 8bit\nX: y\n\nh\xfcllo \n.\n',
      'Content-Type: text/plain;\n charset=latin1\nX: y\nContent-Transfer-Encoding: quoted-printable\n\nh=FCllo=20\n=2E\n',
    ],
    [
      'one part of two, and the label of the whole',
      'Content-Type: multipart/mixed; boundary="b"\nContent-Transfer-Encoding: 8bit\n\npre\n--b\n\nplain \n--b\nContent-Type: text/html\n\n\xfc\n--b--\npost\n',
      'Content-Type: multipart/mixed; boundary="b"\n\npre\n--b\n\nplain \n--b\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n=FC\n--b--\npost\n',
    ],
    [
      'a message within the message',
      'Content-Type: message/rfc822\nContent-Transfer-Encoding: 8bit\n\nSubject: x\n\n\xfc',
      'Content-Type: message/rfc822\n\nSubject: x\nContent-Transfer-Encoding: quoted-printable\n\n=FC',
    ],
    [
      'what is encoded already',
      'Content-Transfer-Encoding: base64\n\nw7w=\n',
      'Content-Transfer-Encoding: base64\n\nw7w=\n',
    ],
  ])('sends %s', async (_, before, after) => {
    for (const pieceBytes of [1, 2, 3, 1000]) {
      const { text, is8Bit } = await refit(crlf(before), false, pieceBytes)
      expect(text).toBe(crlf(after))
      expect(is8Bit).toBe(false)
    }
  })

  test('changes nothing beyond ASCII where the server takes it', async () => {
    const message = crlf('Content-Transfer-Encoding: 8bit\n\nh\xfcllo\n')
    expect(await refit(message, true)).toMatchObject({ text: message, is8Bit: true })
  })

  test.each(['signed', 'encrypted'])('leaves alone what is %s', async kind => {
    const message = crlf(
      `Content-Type: multipart/${kind}; boundary=b\nContent-Transfer-Encoding: 8bit\n\n--b\n` +
        'Content-Type: multipart/mixed; boundary=c\n\n--c\n\nh\xfcllo\n--c--\n--b\n\nsignature\n--b--\n',
    )
    expect(await refit(message)).toMatchObject({ text: message, is8Bit: true })
  })

  const multipart = 'Content-Type: multipart/mixed; boundary=b\n'
  test.each([
    ['a message within the message', 'Content-Type: message/rfc822\n\nSubject: h\xfcllo\n\nx\n'],
    [
      'a message within a part',
      `${multipart}\n--b\nContent-Type: message/rfc822\n\nSubject: h\xfcllo\nA: b\n\nx\n--b--\n`,
    ],
    [
      'a message within a message within the message',
      'Content-Type: message/rfc822\n\nContent-Type: message/rfc822\n\nSubject: h\xfcllo\n\nx\n',
    ],
    ['a message without a body within the message', 'Content-Type: message/rfc822\n\nSubject: h\xfcllo\n'],
    ['a part', `${multipart}\n--b\nContent-Disposition: attachment; filename="h\xfcllo"\n\nx\n--b--\n`],
    ['a line that is folded', 'Content-Type: message/rfc822\n\nSubject: hello\n h\xfcllo\n\nx\n'],
  ])('keeps the header beyond ASCII of %s, and says so', async (_, before) => {
    const message = crlf(before)
    for (const allows8Bit of [true, false])
      for (const pieceBytes of [1, 5, 1000])
        expect(await refit(message, allows8Bit, pieceBytes)).toMatchObject({ text: message, is8Bit: true })
  })

  test.each([
    ['a preamble', `${multipart}\nh\xfcllo\n--b\n\nx\n--b--\n`],
    ['an epilogue', `${multipart}\n--b\n\nx\n--b--\nh\xfcllo\n`],
  ])('keeps %s beyond ASCII, and says so', async (_, before) => {
    expect(await refit(crlf(before))).toMatchObject({ text: crlf(before), is8Bit: true })
  })

  test('does not count its own header, and encodes the rest beside a header that stays', async () => {
    const own = crlf('Subject: h\xfcllo\n\nx\n')
    expect(await refit(own)).toMatchObject({ text: own, is8Bit: false, survey: { has8BitHeader: true } })
    const attached = crlf(
      'Content-Type: message/rfc822\nContent-Transfer-Encoding: 8bit\n\nA: \xe4\n\n\xfc\n',
    )
    const { text, is8Bit } = await refit(attached)
    expect(text).toBe(
      crlf(
        'Content-Type: message/rfc822\nContent-Transfer-Encoding: 8bit\n\nA: \xe4\nContent-Transfer-Encoding: quoted-printable\n\n=FC\n',
      ),
    )
    expect(is8Bit).toBe(true)
  })

  test('encodes what comes after something signed', async () => {
    const { text, is8Bit } = await refit(
      crlf(
        'Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/signed; boundary=b\n\n--b\n\n\xe4\n--b--\n--a\n\n\xfc\n--a--\n',
      ),
    )
    expect(text).toContain('\r\n\xe4\r\n--b--')
    expect(text).toContain('quoted-printable\r\n\r\n=FC\r\n--a--')
    expect(is8Bit).toBe(true)
  })

  test('ends every line with CRLF, so that none can end the message', async () => {
    const { text } = await refit('A: b\nB: c\r\n\nx\n.\ny\r.\rz\r\n.\r\n')
    expect(text).toBe('A: b\r\nB: c\r\n\r\nx\r\n.\r\ny\r\n.\r\nz\r\n.\r\n')
  })

  test('keeps the bytes of a part that is no text', async () => {
    const { text } = await refit(
      'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: image/png\r\n\r\na\nb\rc\0d\r\ne\n\r\n--b--\r\n',
    )
    const [, encoded] = /\r\n\r\n(a[^]*)\r\n--b--/.exec(text)!
    expect(encoded!.replaceAll('=\r\n', '')).toBe('a=0Ab=0Dc=00d\r\ne=0A')
  })

  test.each([
    ['a long line', `A: b\r\n\r\n${'x'.repeat(999)}\r\n`, false],
    ['NUL', 'A: b\r\n\r\nx\0y\r\n', false],
    ['a long line of a header', `A: ${'b'.repeat(999)}\r\n\r\nx\r\n`, true],
    ['NUL in a header', 'A: b\0\r\n\r\nx\r\n', true],
    ['a long line of base64', `Content-Transfer-Encoding: base64\r\n\r\n${'x'.repeat(2000)}\r\n`, true],
    [
      'a long line of something signed',
      `Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\n${'x'.repeat(2000)}\r\n--b--\r\n`,
      true,
    ],
  ])('sees that %s cannot be sent as it is', async (_, message, isHopeless) => {
    const { text, survey } = await refit(message, true, 700)
    expect(survey.isHopeless).toBe(isHopeless)
    if (!isHopeless) expect(text).toContain('Content-Transfer-Encoding: quoted-printable')
  })

  test('refuses a header without an end', async () => {
    await expect(refit('A: b\r\n'.repeat(80_000), false, 65_536)).rejects.toThrow('too long')
  })

  test('makes every message fit, however it is cut, and changes no second time', async () => {
    const scraps = [
      '--b',
      '--b--',
      '--c',
      'a',
      '\xfc',
      '\0',
      '.',
      ' ',
      '=',
      'x'.repeat(700),
      'Content-Type: multipart/mixed; boundary=b',
      'Content-Type: multipart/mixed; boundary=c',
      'Content-Type: message/rfc822',
      'Content-Transfer-Encoding: 8bit',
      'Content-Type: image/png',
      '\r',
      '\n',
      '\r\n',
      '\r\n',
      '\r\n',
      '\r\n\r\n',
      '\r\n\r\n',
    ] as const
    for (let seed = 0; seed < 150; seed++) {
      const random = seeded(`refit ${seed}`)
      const message = Array.from({ length: random.between(1, 50) }, () => random.pick(scraps)).join('')
      const pieces = [1, 3, 1000].map(pieceBytes => refit(message, false, pieceBytes))
      const [{ text, survey }, ...others] = (await Promise.all(pieces)) as [Awaited<ReturnType<typeof refit>>]
      for (const other of others)
        expect(other, `${seed}`).toEqual({ text, survey, is8Bit: expect.any(Boolean) })
      expect(text, `${seed}`).not.toMatch(/\r(?!\n)|(?<!\r)\n/)
      if (survey.isHopeless) continue
      expect(
        text.split('\r\n').every(line => line.length <= 998 && !line.includes('\0')),
        `${seed}`,
      ).toBe(true)
      expect((await refit(text)).text, `${seed}`).toBe(text)
    }
  })
})
