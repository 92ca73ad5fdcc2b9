import { expect, test } from 'vitest'
import { mustSweep, SWEEP_MS } from './without-delta.ts'

const WALKED = 1_000_000_000
const cursor = { total: 10, walkedAt: WALKED, modifiedAt: WALKED - 5 }
const state = (total: number) => ({ total, unread: 0, modifiedAt: null, mark: null })
const MINUTE_MS = 60_000

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
  const at = { state: state(total), arrived, hasChanged: arrived > 0, now: WALKED + agoMs }
  expect(mustSweep(cursor, at)).toBe(isDue)
})
