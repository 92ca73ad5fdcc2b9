import { describe, expect, test } from 'vitest'
import { Doubts } from './doubts.ts'

const SECOND = 1_000

describe('Doubts', () => {
  test.each([
    ['a hundred of a hundred', 100, 100, true],
    ['half of many', 500, 1_000, true],
    ['most of many', 501, 1_000, false],
    ['all of many', 1_000, 1_000, false],
    ['none', 0, 0, true],
  ])('a loss of %s is believed at once: %j of %j', (_, lost, all, isBelieved) => {
    expect(new Doubts().believes('claim', lost, all, 0)).toBe(isBelieved)
  })

  test('a large loss is believed once it was said for 20 seconds without a break', () => {
    const doubts = new Doubts()
    const loses = (lost: number, at: number) => doubts.believes('claim', lost, 1_000, at)
    expect([loses(900, 0), loses(900, 16 * SECOND)]).toEqual([false, false])
    expect(loses(0, 18 * SECOND)).toBe(true)
    expect(doubts.count).toBe(0)
    expect([loses(900, 20 * SECOND), loses(950, 36 * SECOND), loses(900, 40 * SECOND)]).toEqual([
      false,
      false,
      true,
    ])
    expect(loses(900, 44 * SECOND)).toBe(false)
  })
})
