import { expect, test } from 'vitest'
import { LookTimes } from './look-times.ts'

test('holds missing messages until a look that began a minute ago lacked them, too', () => {
  const looks = new LookTimes()
  expect(looks.findHeld(0)).toBe(0)
  looks.began(7, 1_000)
  looks.began(8, 31_000)
  expect([60_999, 61_000, 90_999, 91_000, 500_000].map(now => looks.findHeld(now))).toEqual([0, 7, 7, 8, 8])
})

test('records one look a second at most, and the rest counts as later', () => {
  const looks = new LookTimes()
  for (let at = 0; at < 120_000; at += 100) looks.began(at, at)
  expect(looks.findHeld(119_999)).toBe(59_000)
})
