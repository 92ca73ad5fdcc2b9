import fc from '../../../test/property.ts'
import { expect, test } from 'vitest'
import { parseAddress } from './address.ts'

/** Sixteen bytes in which zeros are frequent, so that many of them are left out in the text. */
const words = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
  minLength: 8,
  maxLength: 8,
})

test('parseAddress reads every spelling of RFC 4291 to the same bytes', () => {
  fc.assert(
    fc.property(words, numbers => {
      const bytes = numbers.flatMap(word => [word >> 8, word & 0xff])
      const full = numbers.map(word => word.toString(16)).join(':')
      const padded = numbers.map(word => word.toString(16).padStart(4, '0').toUpperCase()).join(':')
      const shortest = new URL(`http://[${full}]`).hostname.slice(1, -1)
      const front = numbers.slice(0, 6).map(word => word.toString(16))
      const dotted = bytes.slice(12).join('.')
      const withTail = new URL(`http://[${[...front, '1', '1'].join(':')}]`).hostname.slice(1, -5)

      for (const spelling of [
        full,
        padded,
        shortest,
        `${front.join(':')}:${dotted}`,
        `${withTail}:${dotted}`,
      ]) {
        expect([...(parseAddress(spelling) ?? [])], spelling).toEqual(bytes)
      }
    }),
    { numRuns: 500 },
  )
})

test('parseAddress reads IPv4 as mapped into IPv6', () => {
  fc.assert(
    fc.property(fc.ipV4(), text => {
      expect(parseAddress(text)).toEqual(parseAddress(`::ffff:${text}`))
    }),
  )
})
