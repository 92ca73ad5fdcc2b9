import { describe, expect, test } from 'vitest'
import { holdsEverything, reachesBehindWindow } from './rules.ts'

const now = Date.UTC(2026, 5, 30)
const daysAgo = (days: number) => new Date(now - days * 86_400_000)

describe('reachesBehindWindow', () => {
  test.each([
    [90, undefined, false],
    [90, daysAgo(89), false],
    [90, daysAgo(90), false],
    [90, new Date(daysAgo(90).getTime() - 1), true],
    [null, daysAgo(9000), false],
  ])('a window of %s days and after %s: %s', (syncWindowDays, after, reaches) => {
    expect(reachesBehindWindow({ bodyStorage: 'full', syncWindowDays }, after, now)).toBe(reaches)
  })
})

describe('holdsEverything', () => {
  test.each([
    [null, 'full', true],
    [null, 'cache', false],
    [null, 'none', false],
    [90, 'full', false],
  ] as const)('a window of %s days with bodyStorage %s: %s', (syncWindowDays, bodyStorage, holds) => {
    expect(holdsEverything({ bodyStorage, syncWindowDays })).toBe(holds)
  })
})
