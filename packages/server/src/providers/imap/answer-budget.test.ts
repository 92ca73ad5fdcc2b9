import { describe, expect, test } from 'vitest'
import { AnswerBudget } from './answer-budget.ts'

/** A budget whose clock follows every wait. */
function open() {
  let now = 0
  const budget = new AnswerBudget(() => now)
  return {
    budget,
    pass: (ms: number) => void (now += ms),
    /** Sends until the connection is ended. @returns after how many answers and milliseconds */
    flood(answers: number, bytes: number) {
      for (let count = 1; ; count++) {
        const wait = budget.charge(answers, bytes)
        if (wait === null) return { count, seconds: now / 1000 }
        now += wait
      }
    },
  }
}

describe('AnswerBudget', () => {
  test('admits the answers to a command and the reports of servers at once', () => {
    const { budget } = open()
    budget.grant({ answers: 1_000_000, bytes: 100_000_000 })
    expect(budget.charge(1_000_000, 100_000_000)).toBe(0)
    expect(budget.charge(5000, 200_000)).toBe(0)
  })

  test('does not carry over the unused allowance of a command', () => {
    const { budget } = open()
    budget.grant({ answers: 1_000_000, bytes: 100_000_000 })
    budget.grant(null)
    expect(budget.charge(100_000, 0)).toBeGreaterThan(0)
  })

  test.each([
    ['small answers', 1, 12],
    ['bytes without an answer', 0, 65_536],
    ['large answers', 1, 8192],
  ])('reads a flood of %s slowly, and ends it after 20 seconds', (_, answers, bytes) => {
    const { count, seconds } = open().flood(answers, bytes)
    expect(seconds).toBeGreaterThan(19)
    expect(seconds).toBeLessThan(30)
    expect(count * answers).toBeLessThan(12_000)
    expect(count * bytes).toBeLessThan(1_000_000)
  })

  test('never ends a server that stays below the rate', () => {
    const { budget, pass } = open()
    for (let second = 0; second < 3600; second++) {
      expect(budget.charge(100, 8000)).toBe(0)
      pass(1000)
    }
  })

  test('grants the whole time again after a rest', () => {
    const { budget, pass } = open()
    expect(budget.charge(6000, 0)).toBeGreaterThan(0)
    pass(60_000)
    expect(budget.charge(6000, 0)).toBeGreaterThan(0)
  })
})
