import { expect, test } from 'vitest'
import { seeded } from '../../../test/seeded.ts'
import { decodeQuotedPrintable } from '../mime/transfer-encoding.ts'
import { base64Length, encodeBase64, encodeQuotedPrintable, encodeText } from './transfer.ts'

const LINES = /^[!-~](?:[\t -~]{0,74}[!-~])?$|^$/

test('quoted-printable is read back exactly, in short lines that no server changes', () => {
  const bytes = [0, 9, 10, 13, 32, 46, 61, 65, 70, 127, 128, 255] as const
  for (let seed = 0; seed < 500; seed++) {
    const random = seeded(`quoted ${seed}`)
    const parts = Array.from({ length: random.between(0, 200) }, () =>
      random.chance(0.2)
        ? Buffer.from(random.pick(['\r\n', 'From ', '\r\n.', ' \r\n']))
        : Buffer.of(random.pick(bytes)),
    )
    const content = Buffer.concat(parts)
    const encoded = encodeQuotedPrintable(content).toString('latin1')
    expect(decodeQuotedPrintable(encoded), String(seed)).toEqual(content)
    for (const line of encoded.split('\r\n')) {
      expect(line, String(seed)).toMatch(/^(?!\.|From )[\t -~]{0,76}$/)
      expect(line, String(seed)).not.toMatch(/[\t ]$/)
    }
  }
})

test('base64 is read back exactly, however the content is cut, and has its announced length', async () => {
  for (let seed = 0; seed < 100; seed++) {
    const random = seeded(`base64 ${seed}`)
    const bytes = random.pick([0, 1, 2, 3, 56, 57, 58, 113, 114, 115, 58_367, 58_368, 58_369, 200_000])
    const content = Buffer.from(Array.from({ length: bytes }, () => random.between(0, 255)))
    async function* cut() {
      for (let at = 0; at < bytes;) {
        const length = random.pick([1, 7, 57, 4096, 70_000])
        yield content.subarray(at, at + length)
        at += length
      }
    }
    let encoded = ''
    for await (const piece of encodeBase64(cut())) encoded += piece.toString('latin1')
    expect(encoded.length, String(seed)).toBe(base64Length(bytes))
    expect(Buffer.from(encoded, 'base64').equals(content), String(seed)).toBe(true)
    const lines = encoded.split('\r\n')
    expect(
      lines.slice(0, -1).every(line => line.length === 76),
      String(seed),
    ).toBe(true)
    expect(
      lines.every(line => LINES.test(line)),
      String(seed),
    ).toBe(true)
  }
})

test('a long text is encoded in steps, and nothing is lost where they meet', () => {
  for (const [filler, encoding] of [
    ['a', 'quoted-printable'],
    ['ä', 'base64'],
  ] as const) {
    for (const mark of ['\r\n', '\r', '\n', '🙂', '.', 'From ', '\uD83D']) {
      // 58,368 characters are encoded at once; the mark stands before that place, across it, and behind it.
      for (let before = 58_368 - 3; before <= 58_368 + 1; before++) {
        const text = `${filler.repeat(before)}${mark}${filler.repeat(100_000)}`
        const steps = encodeText(text)
        let count = 1
        let step = steps.next()
        for (; !step.done; step = steps.next()) count++
        const encoded = step.value.body.toString('latin1')
        const decoded =
          encoding === 'base64' ? Buffer.from(encoded, 'base64') : decodeQuotedPrintable(encoded)
        const name = `${JSON.stringify(mark)} at ${before}`
        expect(step.value.encoding, name).toBe(encoding)
        expect(decoded.equals(Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n'))), name).toBe(true)
        expect(count, name).toBeGreaterThan(5)
      }
    }
  }
})
