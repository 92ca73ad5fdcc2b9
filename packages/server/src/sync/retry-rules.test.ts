import { describe, expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'
import { LoginRefusals } from './login-refusals.ts'

describe('backoffMs', () => {
  test.each([
    [1, 0, 1_000],
    [1, 1, 2_000],
    [4, 0, 8_000],
    [4, 1, 16_000],
    [9, 1, 300_000],
    [1_000, 0, 150_000],
    [1_000, 1, 300_000],
  ])('after failure %i with chance %d it waits %i ms', (failures, chance, expected) => {
    expect(backoffMs(failures, () => chance)).toBe(expected)
  })

  test('accounts that failed together come back apart', () => {
    const waits = new Set(Array.from({ length: 100 }, () => Math.round(backoffMs(6))))
    expect(waits.size).toBeGreaterThan(90)
  })
})

describe('LoginRefusals', () => {
  const minute = 60_000
  test.each([
    ['three within a minute are not believed', [0, 20_000, 50_000], false],
    ['two over an hour are not believed', [0, 60 * minute], false],
    ['three over ten minutes are believed', [0, minute, 10 * minute], true],
    ['many over nine minutes are not believed', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(at => at * minute), false],
  ])('%s', (_, times, believed) => {
    const refusals = new LoginRefusals()
    expect(times.map(at => refusals.add(at)).at(-1)).toBe(believed)
  })

  test('a success in between starts the count again', () => {
    const refusals = new LoginRefusals()
    refusals.add(0)
    refusals.add(minute)
    refusals.clear()
    expect(refusals.add(11 * minute)).toBe(false)
  })
})
