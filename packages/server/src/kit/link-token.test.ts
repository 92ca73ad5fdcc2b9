import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createLinkTokens } from './link-token.ts'

const tokens = createLinkTokens(Buffer.alloc(32, 7))
const content = Buffer.from('018f0000-entry')

test('a token opens as what it was made of', () => {
  const token = tokens.make('click', content)
  expect(token).toMatch(/^[\w-]+$/)
  expect(tokens.open('click', token)).toEqual(content)
  expect(tokens.make('click', content)).toBe(token)
})

test('a token of another kind or another installation does not open', () => {
  const token = tokens.make('click', content)
  expect(tokens.open('open', token)).toBeNull()
  expect(createLinkTokens(Buffer.alloc(32, 8)).open('click', token)).toBeNull()
})

test('no changed, shortened or lengthened token opens', () => {
  const token = tokens.make('unsubscribe', content)
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === 'A' ? 'B' : 'A'
    expect(tokens.open('unsubscribe', token.slice(0, at) + other + token.slice(at + 1))).toBeNull()
    expect(tokens.open('unsubscribe', token.slice(0, at))).toBeNull()
  }
  for (const more of ['A', '=', '%00', ' ', '\u{1F600}'])
    expect(tokens.open('unsubscribe', token + more)).toBeNull()
  expect(tokens.open('unsubscribe', randomBytes(4096).toString('base64url'))).toBeNull()
})
