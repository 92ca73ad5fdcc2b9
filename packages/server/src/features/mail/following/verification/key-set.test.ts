import fc from '../../../../../test/property.ts'
import { expect, test } from 'vitest'
import { KeySet } from './key-set.ts'

const keys = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 50 }),
    fc.integer({ min: 0, max: 0xffff_ffff }),
    fc.string({ maxLength: 20 }),
  ),
  { maxLength: 200 },
)

test('a set of keys holds the added keys, and no others', () => {
  fc.assert(
    fc.property(keys, keys, (added, others) => {
      const [set, model] = [new KeySet(), new Set<number | string>()]
      for (const key of added) {
        expect(set.add(key)).toBe(!model.has(key))
        model.add(key)
      }
      expect(set.size).toBe(model.size)
      for (const key of [...added, ...others]) expect(set.has(key)).toBe(model.has(key))
    }),
  )
})

test('a set of keys grows with ascending numbers and with ids', () => {
  const set = new KeySet()
  const each = (act: (key: number | string) => void) => {
    for (let n = 1; n <= 50_000; n++) for (const key of [n * 2, `id ${n}`]) act(key)
  }
  each(key => set.add(key))
  expect(set.size).toBe(100_000)
  let found = 0
  each(key => (found += Number(set.has(key))))
  expect([found, set.has(99_999), set.has('id 50001')]).toEqual([100_000, false, false])
})
