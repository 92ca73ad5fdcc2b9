import { expect, test } from 'vitest'
import { DAY_MS, dateOf, printWall, readWall, WALL_TIME_END, WALL_TIME_MIN } from './wall-clock.ts'

/** A time of day that no other one is a multiple of. */
const ODD_MS = 86_399_000 - 7_001_000

/** Days of all years with four digits, the first and the last among them. */
function* someDays(): Generator<number> {
  const last = WALL_TIME_END / DAY_MS - 1
  for (let day = WALL_TIME_MIN / DAY_MS; day < last; day += 13) yield day
  yield last
}

test('dates and wall clocks are those of Date, in every year with four digits', () => {
  for (const day of someDays()) {
    const date = new Date(day * DAY_MS)
    const { year, month, monthDay } = dateOf(day)
    if (Date.UTC(2000, month - 1, monthDay) !== Date.UTC(2000, date.getUTCMonth(), date.getUTCDate()))
      expect.fail(`${date.toISOString()} is ${month}-${monthDay}`)
    if (year !== date.getUTCFullYear()) expect.fail(`${date.toISOString()} is in ${year}`)
    const time = day * DAY_MS + ODD_MS
    const wall = printWall(time)
    if (wall !== new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '') || readWall(wall) !== time)
      expect.fail(`${new Date(time).toISOString()} reads ${wall}`)
  }
})

test.each([WALL_TIME_MIN - 1, WALL_TIME_END])('a time of another year has no wall clock', time => {
  expect(() => printWall(time)).toThrow(RangeError)
})
