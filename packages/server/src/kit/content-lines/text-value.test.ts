import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapeText, splitValue, unescapeText } from './text-value.ts'

describe('escapeText and unescapeText', () => {
  test.each([
    ['a', 'a'],
    ['a,b;c', String.raw`a\,b\;c`],
    ['a\\b', String.raw`a\\b`],
    ['a\nb', String.raw`a\nb`],
    [String.raw`\n`, String.raw`\\n`],
    ['a:b"c', 'a:b"c'],
  ])('write %j as %j, and read it again', (text, value) => {
    expect(escapeText(text)).toBe(value)
    expect(unescapeText(value)).toBe(text)
  })

  test.each([
    [String.raw`a\Nb`, 'a\nb'],
    [String.raw`http\://x`, 'http://x'],
    [String.raw`\"a\"`, '"a"'],
    [String.raw`C:\temp`, String.raw`C:\temp`],
    ['a\\', 'a\\'],
  ])('unescapeText reads %j', (value, text) => {
    expect(unescapeText(value)).toBe(text)
  })

  test('write any text so that it is read again', () => {
    const text = fc.string({ unit: fc.constantFrom(...'\\\\,;:"nN\nä🏃 ') })
    fc.assert(
      fc.property(text, given => {
        expect(unescapeText(escapeText(given))).toBe(given)
        expect(splitValue(escapeText(given), ',')).toHaveLength(1)
      }),
    )
  })

  test.each(['\r\n', '\r', '\n'])('escapeText takes %j for one line break', ending => {
    expect(escapeText(`a${ending}b`)).toBe(String.raw`a\nb`)
  })
})

describe('splitValue', () => {
  test.each([
    ['', ';', ['']],
    ['a;b;', ';', ['a', 'b', '']],
    [String.raw`a\;b;c\\;d`, ';', [String.raw`a\;b`, String.raw`c\\`, 'd']],
    [String.raw`a,b\,c`, ',', ['a', String.raw`b\,c`]],
    ['a;b\\', ';', ['a', 'b\\']],
  ] as const)('splits %j at %s', (value, separator, parts) => {
    expect(splitValue(value, separator)).toEqual(parts)
  })
})
