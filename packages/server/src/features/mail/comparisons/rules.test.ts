import { describe, expect, test } from 'vitest'
import { type ComparedCounts, type MailboxComparison, planComparison } from './rules.ts'

const counts = (counted: Partial<ComparedCounts> = {}): ComparedCounts => ({
  listed: 10,
  indexed: 10,
  missing: 0,
  extra: 0,
  changed: 0,
  ...counted,
})
const comparison = (of: Partial<MailboxComparison> = {}): MailboxComparison => ({
  mailboxId: 'one',
  comparedAt: new Date('2026-03-04T11:00:00Z'),
  repaired: 0,
  stuckHours: 0,
  isDoubtful: false,
  ...counts(of),
  ...of,
})

describe('planComparison', () => {
  const HOUR = 3600
  test.each<[string, Partial<MailboxComparison> | null, Partial<ComparedCounts>, number, number]>([
    ['the first time, equal', null, {}, 0, 22 * HOUR],
    ['the first time, different', null, { missing: 3 }, 0, 0],
    ['different after equal', { repaired: 2 }, { extra: 1 }, 0, 0],
    ['all repaired', { missing: 3, changed: 1 }, {}, 4, 22 * HOUR],
    ['partly repaired', { missing: 3, repaired: 2 }, { missing: 1 }, 4, 0],
    ['not repaired', { missing: 3, repaired: 2 }, { missing: 3 }, 2, HOUR],
    ['not repaired again', { missing: 3, stuckHours: 1 }, { missing: 3 }, 0, 2 * HOUR],
    ['not repaired for days', { missing: 3, stuckHours: 16 }, { missing: 3 }, 0, 24 * HOUR],
    ['partly repaired after a pause', { missing: 3, stuckHours: 8 }, { missing: 1 }, 2, 0],
    ['repaired by 10,000 of many', { missing: 50_000 }, { missing: 40_000 }, 10_000, 0],
    ['more than before', { missing: 3 }, { missing: 3, changed: 2 }, 0, HOUR],
    ['equal again, a day after a repair', { repaired: 4 }, {}, 0, 22 * HOUR],
  ])('%s', (_, before, found, repaired, dueInSeconds) => {
    expect(planComparison(before && comparison(before), counts(found), 0)).toMatchObject({
      repaired,
      dueInSeconds,
    })
  })

  test.each<[string, Partial<MailboxComparison> | null, Partial<ComparedCounts>, number]>([
    ['equal', { missing: 1, stuckHours: 4 }, {}, 0],
    ['different for the first time', null, { missing: 1 }, 0],
    ['partly repaired', { missing: 2, stuckHours: 4 }, { missing: 1 }, 0],
    ['not repaired', { missing: 1 }, { missing: 1 }, 1],
    ['not repaired again', { missing: 1, stuckHours: 4 }, { missing: 1 }, 8],
  ])('remembers the pause: %s', (_, before, found, stuckHours) => {
    expect(planComparison(before && comparison(before), counts(found), 0)).toMatchObject({ stuckHours })
  })

  test('spreads comparisons over two hours', () => {
    expect(planComparison(null, counts(), 1).dueInSeconds).toBe(24 * HOUR)
  })
})
