import { expect, test } from 'vitest'
import { type ClockReading, planSetBack } from './clock-reading.ts'

const reading = (shown: number, before: number, after = before): ClockReading => ({ shown, before, after })

test.each([
  ['runs on', reading(5_000, 100), reading(6_000, 1_100), 0],
  ['was set forward', reading(5_000, 100), reading(9_000, 1_100), -3_000],
  ['was set back', reading(5_000, 100), reading(3_000, 1_100), 3_000],
  ['runs on, and the first answer came late', reading(5_000, 100, 4_100), reading(9_000, 4_100), -4_000],
  ['runs on, and the second answer came late', reading(5_000, 100), reading(6_000, 1_100, 9_000), 0],
  ['was set back, and the answers came late', reading(5_000, 100, 600), reading(3_000, 1_100, 4_000), 2_500],
])('detects a clock that %s', (_, earlier, later, milliseconds) => {
  expect(planSetBack(earlier, later)).toBe(milliseconds)
})
