import { expect, test } from 'vitest'
import { serverText } from './server-text.ts'

test.each([
  ['plain words', 'Try again later.', 'Try again later.'],
  ['other scripts', 'Später — もう一度', 'Später — もう一度'],
  ['several lines', '550-no\r\n550 never ', '550-no 550 never'],
  ['control characters', 'a\u0000b\u001b[2J\u009b1m', 'a b [2J 1m'],
  ['marks that turn the direction of text', 'safe\u202egnp.exe\u2066', 'safe gnp.exe'],
  ['half of a pair', 'a\ud83d b', 'a b'],
  ['a long text', 'x'.repeat(5000), 'x'.repeat(200)],
  ['a pair at the cut', `${'x'.repeat(199)}😀`, 'x'.repeat(199)],
  ['no text', undefined, ''],
])('shows %s', (_, text, shown) => {
  expect(serverText(text)).toBe(shown)
})
