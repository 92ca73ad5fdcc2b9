import { describe, expect, test } from 'vitest'
import { readIds, readMessageId, readReferences } from './message-ids.ts'

describe('readReferences', () => {
  // RFC 5256 section 2.2: In-Reply-To counts only if References has no id, and only its first id.
  test.each<[references: string | null, inReplyTo: string | null, expected: string[]]>([
    ['<a@x> <b@x>', '<b@x>', ['<a@x>', '<b@x>']],
    ['<a@x> <b@x>', '<other@x>', ['<a@x>', '<b@x>']],
    ['<a@x>\t<b@x> <a@x>', null, ['<a@x>', '<b@x>']],
    [null, '<b@x>', ['<b@x>']],
    [null, '<b@x> <c@x>', ['<b@x>']],
    ['', '<b@x>', ['<b@x>']],
    ['see my last mail', '<b@x>', ['<b@x>']],
    [null, 'Your message of "Mon, 9 Mar 2026" <b@x>', ['<b@x>']],
    // An id without brackets is that of a message whose own id has none.
    [null, 'b@x', ['<b@x>']],
    [null, ' b@x ', ['<b@x>']],
    [null, 'b@x>', ['<b@x>']],
    [null, '<b@x', ['<b@x>']],
    [null, '20260310.4711', ['<20260310.4711>']],
    ['a@x', '<b@x>', ['<a@x>']],
    ['a@x', null, ['<a@x>']],
    [null, 'your message of Monday', []],
    [null, '<>', []],
    [null, '', []],
    [null, null, []],
    ['<own@x> <a@x>', '<own@x>', ['<a@x>']],
    ['<own@x>', '<a@x>', ['<a@x>']],
    [null, '<own@x>', []],
  ])('of References %j and In-Reply-To %j is %j', (references, inReplyTo, expected) => {
    expect(readReferences(references, inReplyTo, '<own@x>')).toEqual(expected)
  })

  test('means a message by its id, whether either has brackets', () => {
    for (const id of ['b@x', '<b@x>', ' b@x', '20260310.4711'])
      expect(readReferences(null, id, null)).toEqual([readMessageId(id)])
  })

  test('keeps the first and the last 99 of more than a hundred', () => {
    const many = Array.from({ length: 300 }, (_, index) => `<${index}@x>`)
    const read = readReferences(many.join('\r\n '), null, null)
    expect(read).toEqual(['<0@x>', ...many.slice(-99)])
  })
})

test('readIds reads all ids of a field', () => {
  expect(readIds('<a@x> (yesterday) <b@x>, c@x')).toEqual(['<a@x>', '<b@x>'])
})
