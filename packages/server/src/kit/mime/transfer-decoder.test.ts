import { describe, expect, test } from 'vitest'
import { decodeContent } from './transfer-decoder.ts'

const MEGABYTE = 1024 * 1024

async function* inPieces(raw: Buffer, pieceBytes: number) {
  for (let at = 0; at < raw.length; at += pieceBytes) yield raw.subarray(at, at + pieceBytes)
}

/** Decodes content, and counts how often the event loop ran meanwhile. */
async function decode(raw: Buffer, encoding: string, pieceBytes: number) {
  let turns = 0
  let immediate = setImmediate(function count() {
    turns += 1
    immediate = setImmediate(count)
  })
  let length = 0
  let longest = 0
  for await (const bytes of decodeContent(inPieces(raw, pieceBytes), encoding)) {
    length += bytes.length
    longest = Math.max(longest, bytes.length)
  }
  clearImmediate(immediate)
  return { turns, length, longest }
}

describe('decodeContent', () => {
  test.each([
    [
      'x-uuencode',
      'uuencode of lines that claim more than they contain',
      `begin 644 a\n${'_\n'.repeat(MEGABYTE)}`,
    ],
    ['x-uuencode', 'uuencode of nothing', `begin 644 a\n${'\n'.repeat(2 * MEGABYTE)}`],
    ['x-uuencode', 'uuencode of one line', `begin 644 a\n${'M'.repeat(2 * MEGABYTE)}`],
    ['base64', 'base64 of invalid characters', '*'.repeat(2 * MEGABYTE)],
    ['quoted-printable', 'quoted-printable of soft breaks', '=\r\n'.repeat(700_000)],
    ['quoted-printable', 'quoted-printable of blanks', ' '.repeat(2 * MEGABYTE)],
  ])('%s: lets the event loop run in between, for pieces of any size: %s', async (encoding, _, body) => {
    const raw = Buffer.from(body)
    for (const pieceBytes of [256 * 1024, raw.length]) {
      const { turns, longest } = await decode(raw, encoding, pieceBytes)
      expect(turns).toBeGreaterThanOrEqual(60)
      expect(longest).toBeLessThan(2 * MEGABYTE)
    }
  })

  test('decodes a line of uuencode that claims more than it contains to the claimed length', async () => {
    const lines = 100_000
    const raw = Buffer.from(`begin 644 a\n${'_\n'.repeat(lines)}\`\nend\n`)
    expect((await decode(raw, 'x-uuencode', 256 * 1024)).length).toBe(63 * lines)
  })
})
