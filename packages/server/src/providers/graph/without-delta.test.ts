import { expect, test } from 'vitest'
import { knownState, mustSweep, SWEEP_MS } from './without-delta.ts'

const WALKED = 1_000_000_000
const MINUTE_MS = 60_000
const OLD = WALKED - 60 * MINUTE_MS
const cursor = { total: 10, modifiedAt: OLD, mark: 'm' }
const state = (total: number, modifiedAt: number | null = OLD) => ({
  total,
  unread: 0,
  modifiedAt,
  mark: 'm',
})

test.each([
  ['a quiet folder is left alone', { total: 10, arrived: 0, agoMs: MINUTE_MS }, false],
  ['an arrival explains a higher count', { total: 12, arrived: 2, agoMs: MINUTE_MS }, false],
  ['a lower count is looked into at once', { total: 9, arrived: 0, agoMs: MINUTE_MS }, true],
  ['an arrival that hides a deletion is looked into', { total: 10, arrived: 1, agoMs: MINUTE_MS }, true],
  ['no folder is listed twice in half a minute', { total: 9, arrived: 0, agoMs: 29_000 }, false],
  ['a changed folder is listed after the stated time', { total: 11, arrived: 1, agoMs: SWEEP_MS }, true],
  ['a quiet folder is not', { total: 10, arrived: 0, agoMs: SWEEP_MS }, false],
  ['a quiet folder is listed once a day', { total: 10, arrived: 0, agoMs: 24 * 60 * MINUTE_MS }, true],
  ['a clock that was turned back ends the wait', { total: 10, arrived: 0, agoMs: -1 }, true],
])('%s', (_, { total, arrived, agoMs }, isDue) => {
  const now = state(total, arrived > 0 ? WALKED + 1 : OLD)
  const known = { ...knownState(cursor, now, arrived), walkedAt: WALKED }
  expect(mustSweep(known, now, WALKED + agoMs)).toBe(isDue)
})

test('a deletion soon after a list is remembered until the folder is listed again', () => {
  const soon = { ...knownState(cursor, state(9), 0), walkedAt: WALKED }
  expect(mustSweep(soon, state(9), WALKED + 10_000)).toBe(false)
  const later = { ...knownState(soon, state(9), 0), walkedAt: WALKED }
  expect(mustSweep(later, state(9), WALKED + 30_000)).toBe(true)
})

test('a folder that no longer shows its newest modification keeps the time of it', () => {
  expect(knownState(cursor, state(10, null), 0)).toMatchObject({ modifiedAt: OLD, mark: 'm' })
})
