import fc from '../../test/property.ts'
import { expect, test } from 'vitest'
import { ByteQueue } from './byte-queue.ts'

const PIECES = fc.array(fc.uint8Array({ maxLength: 20 }))
const COUNTS = fc.array(fc.integer({ min: 0, max: 30 }))

test('takes the bytes in the order in which they came', () => {
  fc.assert(
    fc.property(PIECES, COUNTS, (pieces, counts) => {
      const queue = new ByteQueue()
      for (const piece of pieces) queue.push(Buffer.from(piece))
      const all = Buffer.concat(pieces)
      let at = 0
      for (const count of counts) {
        expect(queue.take(count)).toEqual(all.subarray(at, at + count))
        at = Math.min(all.length, at + count)
        expect(queue.length).toBe(all.length - at)
      }
    }),
  )
})
