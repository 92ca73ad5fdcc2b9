import { describe, expect, test } from 'vitest'
import type { MailboxComparison } from '../../mail/comparisons/rules.ts'
import { stateOf } from './rules.ts'

const NOW = new Date('2026-03-04T12:00:00Z')
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000)
const comparison = (of: Partial<MailboxComparison> = {}): MailboxComparison => ({
  mailboxId: 'one',
  comparedAt: hoursAgo(1),
  listed: 10,
  indexed: 10,
  missing: 0,
  extra: 0,
  changed: 0,
  repaired: 0,
  stuckHours: 0,
  isDoubtful: false,
  ...of,
})

describe('stateOf', () => {
  test.each<[string, MailboxComparison[], string]>([
    ['no mailboxes', [], 'unverified'],
    ['equal mailboxes', [comparison(), comparison({ repaired: 4 })], 'verified'],
    ['a comparison 26 hours ago', [comparison({ comparedAt: hoursAgo(26) })], 'verified'],
    ['a comparison before that', [comparison(), comparison({ comparedAt: hoursAgo(26.01) })], 'unverified'],
    ['a mailbox never compared', [comparison(), comparison({ comparedAt: null })], 'unverified'],
    ['a provider that contradicts itself', [comparison({ isDoubtful: true })], 'unverified'],
    ['a missing message', [comparison(), comparison({ missing: 1 })], 'behind'],
    ['an old difference', [comparison({ extra: 1, comparedAt: hoursAgo(99) })], 'behind'],
    ['changed flags and doubt', [comparison({ changed: 1, isDoubtful: true })], 'behind'],
  ])('%s', (_, comparisons, state) => expect(stateOf(comparisons, { now: NOW })).toBe(state))

  test('an account of which something was not read yet is not verified', () => {
    expect(stateOf([comparison()], { now: NOW, isWhole: false })).toBe('unverified')
    expect(stateOf([comparison({ missing: 1 })], { now: NOW, isWhole: false })).toBe('behind')
  })
})
