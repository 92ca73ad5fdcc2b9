import { expect, test } from 'vitest'
import { newId } from '../kit/ids.ts'
import { untilPhaseSeconds } from './phase.ts'

const id = (end: string) => `01900000-0000-7000-8000-0000${end}`

test.each([
  { end: '00000000', now: 0, seconds: 45 },
  { end: '00000000', now: 44, seconds: 1 },
  { end: '00000000', now: 45, seconds: 45 },
  { end: '80000000', now: 0, seconds: 22.5 },
  { end: '80000000', now: 22.5, seconds: 45 },
  { end: '80000000', now: 1_000_000, seconds: 12.5 },
])('an account that ends with $end waits for $seconds s at $now s', ({ end, now, seconds }) => {
  expect(untilPhaseSeconds(id(end), 45, now)).toBeCloseTo(seconds, 6)
})

test('a thousand accounts that were made together are spread over the interval', () => {
  const seconds = Array.from({ length: 1_000 }, () => untilPhaseSeconds(newId(), 45, 12_345))
  const counts = Array.from({ length: 9 }, () => 0)
  for (const each of seconds) counts[Math.ceil(each / 5) - 1]!++
  // 111 on average; by chance, a ninth of them differs by 50 once in a million runs.
  expect(Math.min(...counts)).toBeGreaterThan(60)
  expect(Math.max(...counts)).toBeLessThan(165)
})
