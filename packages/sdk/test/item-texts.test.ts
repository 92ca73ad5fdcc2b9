import fc from 'fast-check'
import { expect, test } from 'vitest'
import { itemTexts } from '../src/index.ts'

test('each item of a page has the text that the service wrote', () => {
  const items = fc.array(fc.dictionary(fc.string(), fc.jsonValue()))
  const spaces = fc.constantFrom(undefined, 2)
  fc.assert(
    fc.property(items, spaces, fc.string(), (written, space, nextCursor) => {
      const texts = written.map(item => JSON.stringify(item, null, space))
      expect(
        itemTexts({ text: `{"items":[${texts.join(',')}],"nextCursor":${JSON.stringify(nextCursor)}}` }),
      ).toEqual(texts)
    }),
  )
})

test('an item may have a string of any length, with quotes and brackets', () => {
  const item = JSON.stringify({ text: '\\"}]'.repeat(3_000_000) })
  expect(itemTexts({ text: `{"items":[${item},{}]}` }).map(text => text.length)).toEqual([item.length, 2])
})

test('lists that a newer service adds to a page have no part in it', () => {
  const text = '{"more":[{"a":[1]}],"note":"items","items":[{"b":"\\"items"},{}],"other":{"items":[{}]}}'
  expect(itemTexts({ text })).toEqual(['{"b":"\\"items"}', '{}'])
})
