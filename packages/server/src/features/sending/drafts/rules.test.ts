import { expect, test } from 'vitest'
import { draftMessageId, keptThreading, matches, wholeSecond, writableId } from './rules.ts'

test.each([
  [null, true],
  ['*', true],
  ['"a.1"', true],
  ['"b.2", "a.1"', true],
  ['"a.2"', false],
  ['W/"a.1"', false],
  ['a.1', false],
  ['', false],
])('compares If-Match %s with the ETag', (ifMatch, isMatch) => {
  expect(matches(ifMatch, '"a.1"')).toBe(isMatch)
})

test('makes the same Message-ID for the same draft, and another one for each other', () => {
  const id = draftMessageId('one', 'ada@bücher.example')
  expect(id).toMatch(/^<one\.[0-9a-f]{16}@xn--bcher-kva\.example>$/)
  expect(draftMessageId('one', 'ada@bücher.example')).toBe(id)
  expect(draftMessageId('two', 'ada@bücher.example')).not.toBe(id)
})

test('keeps the references of a draft, as far as they can be written', () => {
  const long = `<${'a'.repeat(950)}@b>`
  expect(keptThreading({ references: `<a@b>\r\n ${long} <c@d>`, inReplyTo: '<c@d> (Monday)' })).toEqual({
    inReplyTo: '<c@d>',
    references: ['<a@b>', '<c@d>'],
  })
  expect(keptThreading({ references: null, inReplyTo: null })).toEqual({ inReplyTo: null, references: [] })
  expect([writableId('<ü@b>'), writableId(null), writableId('<a@b>')]).toEqual([null, null, '<a@b>'])
})

test('leaves parts of a second out', () => {
  expect(wholeSecond(Date.UTC(2026, 0, 2, 3, 4, 5, 678)).toISOString()).toBe('2026-01-02T03:04:05.000Z')
})
