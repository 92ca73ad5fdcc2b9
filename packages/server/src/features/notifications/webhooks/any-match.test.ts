import { describe, expect, test } from 'vitest'
import { anyEvent, anyFilters, passes } from '../../../../test/notifications/any-filters.ts'
import { seeded } from '../../../../test/seeded.ts'
import { compileFilters, eventFacts } from './match.ts'

describe('random filters and events of all types', () => {
  test.each([1, 2, 3])('agree with the same rule written as a table (seed %i)', seed => {
    const random = seeded(seed)
    const seen = { passed: 0, refused: 0 }
    for (let round = 0; round < 300; round++) {
      const filters = anyFilters(random)
      const matcher = compileFilters(filters)
      for (let nth = 0; nth < 30; nth++) {
        const happened = anyEvent(random)
        const facts = eventFacts(happened)
        const expected = passes(filters, happened)
        const isPassed = matcher.matches(facts)
        expect({ filters, happened, isPassed }).toEqual({ filters, happened, isPassed: expected })
        expect([null, isPassed]).toContain(matcher.judge(happened.type, happened.accountId))
        seen[isPassed ? 'passed' : 'refused'] += 1
      }
    }
    expect(seen.passed).toBeGreaterThan(900)
    expect(seen.refused).toBeGreaterThan(900)
  })
})
