import { describe, expect, test } from 'vitest'
import { directionOf, isDraftIn } from './rules.ts'

const account = { addresses: new Set(['me@example.com']) }

describe('directionOf', () => {
  test.each([
    ['inbox', 'Me@Example.com', 'outbound'],
    ['inbox', 'you@example.com', 'inbound'],
    ['sent', 'you@example.com', 'outbound'],
    ['drafts', 'me@example.com', 'outbound'],
    ['archive', null, 'inbound'],
    ['sent', null, 'outbound'],
  ] as const)('in %s from %s it is %s', (role, address, direction) => {
    expect(directionOf(account, [{ role }], address === null ? null : { name: null, address })).toBe(
      direction,
    )
  })
})

describe('isDraftIn', () => {
  test.each([
    ['drafts', false, true],
    ['inbox', true, true],
    ['inbox', false, false],
  ] as const)('in %s with the flag %s it is %s', (role, flag, expected) => {
    expect(isDraftIn([{ role }], flag)).toBe(expected)
  })
})
