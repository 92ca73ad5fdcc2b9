import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readContentFacts } from './content-facts.ts'
import { SNIPPET_LENGTH } from './snippet.ts'
import { collapseText, cutText } from './text.ts'

/** White space, what is dropped, joiners, and halves of characters: all that a cut in the text could change. */
const UNITS = [
  ' ',
  '\n',
  '\t',
  '\u0000',
  '\u00a0',
  '\u2028',
  '\u00ad',
  '\u200b',
  '\ufeff',
  '\u200c',
  '\u200d',
  '\ud83d',
  '\ude00',
  '😀',
  'é',
  'a',
  'word ',
]
const PIECES = fc.array(
  fc.record({
    units: fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 6 }),
    times: fc.nat({ max: 700 }),
  }),
  { maxLength: 8 },
)

function snippetOf(text: string): string {
  const message = { text, html: null, attachments: [], hasAttachments: false, isWhole: true }
  return readContentFacts(message).snippet
}

test('the snippet of a text is that of all of it, however much is looked at', () => {
  fc.assert(
    fc.property(PIECES, pieces => {
      const text = pieces.map(({ units, times }) => units.repeat(times)).join('')
      expect(snippetOf(text)).toBe(cutText(collapseText(text), SNIPPET_LENGTH).trimEnd())
    }),
    { numRuns: 1_000 },
  )
})

test.each([799, 800, 801, 3_199, 3_200, 3_201])(
  'a text that begins with %i blanks shows what follows',
  count => {
    const blanks = ' '.repeat(count)
    expect(snippetOf(`${blanks}😀 text`)).toBe('😀 text')
    expect(snippetOf(`${blanks}\u200d\u200dtext`)).toBe('\u200dtext')
  },
)

test.each([800, 3_200])('no half of a character is shown if the first %i end in it', length => {
  const shown = 'a'.repeat(SNIPPET_LENGTH - 1)
  expect(snippetOf(`${' '.repeat(length - SNIPPET_LENGTH)}${shown}😀 more`)).toBe(shown)
})
