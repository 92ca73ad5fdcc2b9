import { describe, expect, test } from 'vitest'
import { composeMessage } from '../../src/features/sending/compose/compose.ts'
import { seeded } from '../seeded.ts'
import { hostileComposition } from './hostile-compositions.ts'
import { HANDED_OVER, readCopy, readWire, store, storedOf } from './read-composed.ts'
import { openSlicedWork } from '../../src/kit/sliced-work.ts'

const inSlices = openSlicedWork()('a')

const greek = { name: 'Δόκιμη', address: 'δοκ@παράδειγμα.gr' }

function international(seed: string) {
  return {
    ...hostileComposition(seeded(seed)),
    to: [greek],
    bcc: [{ name: 'Hidden', address: 'h@x.example' }],
  }
}

const fieldsNamed = (raw: Buffer, name: string) =>
  raw
    .toString('utf8')
    .split('\r\n\r\n', 1)[0]!
    .match(new RegExp(`^${name}:.*(?:\\r\\n[ \\t].*)*`, 'gm')) ?? []

describe('the forms of a stored message', () => {
  test('differ in Bcc, in addresses beyond ASCII, and in nothing else', async () => {
    const stored = await store(await composeMessage(international('forms'), inSlices))
    const utf8 = await readWire(stored, { hasSmtpUtf8: true })
    const ascii = await readWire(stored)
    const copy = await readCopy(stored)
    expect(utf8.hasUtf8Header).toBe(true)
    expect(ascii.hasUtf8Header).toBe(false)
    expect(fieldsNamed(utf8.raw, 'To')).toEqual([expect.stringContaining('<δοκ@xn--hxajbheg2az3al.gr>')])
    expect(fieldsNamed(ascii.raw, 'To')).toEqual([expect.stringMatching(/^To: =\?UTF-8\?[^<@]*:;$/)])
    expect(fieldsNamed(copy, 'Bcc')).toEqual(['Bcc: Hidden <h@x.example>'])
    expect(copy.toString().replace('Bcc: Hidden <h@x.example>\r\n', '')).toBe(utf8.raw.toString())
    const without = (raw: Buffer) => raw.toString('utf8').replace(/^To:.*(?:\r\n .*)*\r\n/m, '')
    expect(without(ascii.raw)).toBe(without(utf8.raw))
    expect(/[^\0-\u007f]/.exec(ascii.raw.toString('latin1'))).toBeNull()
  })

  test('have the Date of the hand-over, and no other byte changes, however the content is cut', async () => {
    const composed = await composeMessage(international('dates'), inSlices)
    const whole = await store(composed)
    const { raw } = await readWire(whole)
    expect(fieldsNamed(raw, 'Date')).toEqual(['Date: Sat, 21 Nov 2026 09:08:07 +0000'])
    const content: Buffer[] = []
    for await (const bytes of whole.open()) content.push(Buffer.from(bytes))
    const stored = Buffer.concat(content)
    const at = composed.layout.dateAt
    expect(stored.toString('latin1', at - 6, at)).toBe('Date: ')
    for (let pieceBytes = 1; pieceBytes < 90; pieceBytes++) {
      const cut = storedOf(composed.layout, stored, pieceBytes)
      expect((await readWire(cut)).raw.equals(raw), `${pieceBytes}`).toBe(true)
    }
    const original = Buffer.from(stored)
    await readCopy(whole)
    expect(stored.equals(original)).toBe(true)
    const copy = await readCopy(storedOf(composed.layout, stored))
    const dated = Buffer.from(HANDED_OVER.toUTCString().replace('GMT', '+0000'))
    expect(copy.subarray(at, at + dated.length).equals(dated)).toBe(true)
  })

  test('are encoded for a server without 8BITMIME, but for what is signed', async () => {
    const body = 'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nhüllo\r\n'
    const date = 'Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n'
    const stored = storedOf({ dateAt: 6, ranges: [], is8Bit: true }, Buffer.from(date + body), 11)
    const plain = await readWire(stored, { has8BitMime: true })
    expect(plain.is8Bit).toBe(true)
    expect(plain.raw.toString()).toContain('hüllo')
    const encoded = await readWire(stored)
    expect(encoded.is8Bit).toBe(false)
    expect(encoded.raw.toString()).toBe(
      'Date: Sat, 21 Nov 2026 09:08:07 +0000\r\nContent-Type: text/plain; charset=utf-8\r\n' +
        'Content-Transfer-Encoding: quoted-printable\r\n\r\nh=C3=BCllo\r\n',
    )
  })
})
