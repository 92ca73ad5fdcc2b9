import { BODY_VALUES_MAX } from '@waxwing/contract/operation.ts'
import fc from '../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { BODY_DEPTH_MAX, scanJson } from './scan-json.ts'

function issueOf(text: string, chunkBytes = text.length + 1) {
  const bytes = Buffer.from(text)
  const scan = scanJson()
  for (let at = 0; at < bytes.length; at += chunkBytes) scan.add(bytes.subarray(at, at + chunkBytes))
  return scan.issue()?.message ?? null
}

const TOO_MANY = `The body has more than ${BODY_VALUES_MAX} values.`
const TOO_DEEP = `The body is nested deeper than ${BODY_DEPTH_MAX} levels.`
const listOf = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join()}]`
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

describe('scanJson', () => {
  test.each([
    ['an empty object', '{}', null],
    ['as many values as are allowed', listOf(BODY_VALUES_MAX - 1, '1'), null],
    ['one value more', listOf(BODY_VALUES_MAX, '1'), TOO_MANY],
    ['lists, which count with their items', listOf(BODY_VALUES_MAX / 2, '[1]'), TOO_MANY],
    ['objects, which count by their fields', `{${listOf(BODY_VALUES_MAX, '"a":1').slice(1, -1)}}`, TOO_MANY],
    ['as many levels as are allowed', nested(BODY_DEPTH_MAX), null],
    ['one level more', nested(BODY_DEPTH_MAX + 1), TOO_DEEP],
    ['levels beside each other', `[${nested(BODY_DEPTH_MAX - 1)},${nested(BODY_DEPTH_MAX - 1)}]`, null],
    ['brackets and commas in a text', JSON.stringify('[{,'.repeat(BODY_VALUES_MAX)), null],
    ['a text with escaped quotes and backslashes', JSON.stringify('"\\,["'.repeat(BODY_VALUES_MAX)), null],
    ['values after a text that ends in a backslash', `["\\\\",${'1,'.repeat(BODY_VALUES_MAX)}1]`, TOO_MANY],
    ['text that is not JSON', '}]}"', null],
  ])('reads %s', (_, text, expected) => {
    expect(issueOf(text)).toBe(expected)
  })

  test('gives the same result wherever the chunks end', () => {
    const text = fc.oneof(
      fc.json().map(json => `[${json},${nested(BODY_DEPTH_MAX)}]`),
      fc.json().map(json => `[${json},"\\\\\\"[",${nested(BODY_DEPTH_MAX - 1)}]`),
    )
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 20 }), (json, chunkBytes) => {
        expect(issueOf(json, chunkBytes)).toBe(issueOf(json))
      }),
    )
  })
})
