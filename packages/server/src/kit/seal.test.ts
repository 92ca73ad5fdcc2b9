import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SEAL_KEY_BYTES, SealError, seal, unseal } from './seal.ts'

const key = randomBytes(SEAL_KEY_BYTES)
const plaintext = Buffer.from('correct horse')
const context = ['tenant', 'account_secret', 'sealed', 'row']

describe('seal', () => {
  test('opens under the same key and context, and never returns the same bytes twice', () => {
    const first = seal(key, plaintext, context)
    const second = seal(key, plaintext, context)

    expect(unseal(key, first, context)).toEqual(plaintext)
    expect(first).not.toEqual(second)
    expect(first.includes(plaintext)).toBe(false)
  })

  test.each([
    ['another row', ['tenant', 'account_secret', 'sealed', 'other']],
    ['parts with another boundary between them', ['tenant', 'account_secret', 'sealedr', 'ow']],
    ['one part less', ['tenant', 'account_secret', 'sealed']],
    ['one more, empty part', ['tenant', 'account_secret', 'sealed', 'row', '']],
  ])('does not open for %s', (_, other) => {
    expect(() => unseal(key, seal(key, plaintext, context), other)).toThrow(SealError)
  })

  test('does not open if any byte changed, or under another key', () => {
    const sealed = seal(key, plaintext, context)
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      expect(() => unseal(key, changed, context)).toThrow(SealError)
    }
    expect(() => unseal(randomBytes(SEAL_KEY_BYTES), sealed, context)).toThrow(SealError)
    expect(() => unseal(key, sealed.subarray(0, 20), context)).toThrow(SealError)
  })
})
