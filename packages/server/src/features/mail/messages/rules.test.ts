import { describe, expect, test } from 'vitest'
import { directionOf, isDraftIn, planFlags } from './rules.ts'

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

describe('planFlags', () => {
  const row = { is_read: false, is_flagged: true, is_draft: true, categories: ['a', 'b'] }
  const same = { isRead: false, isFlagged: true, isDraft: true, categories: ['b', 'a'] }
  test.each([
    ['nothing', null, {}, []],
    ['the same', same, {}, []],
    ['that it is read', { ...same, isRead: true }, { is_read: true }, ['isRead']],
    ['that it is not flagged', { ...same, isFlagged: false }, { is_flagged: false }, ['isFlagged']],
    ['that it is no draft', { ...same, isDraft: false }, {}, []],
    ['other categories', { ...same, categories: ['c'] }, { categories: ['c'] }, ['categories']],
  ] as const)('of a provider that tells %s', (_, told, differing, changes) => {
    const flags = told && { ...told, categories: [...told.categories] }
    expect(planFlags(row, flags)).toEqual({ next: { ...row, ...differing }, changes })
  })

  test('makes a message a draft that the provider takes for one', () => {
    expect(planFlags({ ...row, is_draft: false }, { ...same, categories: ['a', 'b'] })).toEqual({
      next: row,
      changes: ['isDraft'],
    })
  })
})
