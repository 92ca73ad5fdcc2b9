import { expect, test } from 'vitest'
import { createWindowCounts } from './window-counts.ts'

const START = Date.UTC(2030, 0, 1, 12, 0, 0)

function openCounts(keysMax: number) {
  let now = START
  const counts = createWindowCounts({ now: () => now }, keysMax)
  return { counts, standAt: (second: number) => void (now = START + second * 1000) }
}

test('counts each key until the minute ends', () => {
  const { counts, standAt } = openCounts(10)
  counts.add('a')
  counts.add('a')
  counts.add('b')
  standAt(59.999)
  expect([counts.get('a'), counts.get('b'), counts.get('c')]).toEqual([2, 1, 0])
  standAt(60)
  expect([counts.get('a'), counts.get('b')]).toEqual([0, 0])
})

test.each([
  [0, 60],
  [0.5, 60],
  [58.5, 2],
  [59.999, 1],
  [60, 60],
])('at second %d the minute ends in %d', (second, left) => {
  const { counts, standAt } = openCounts(10)
  standAt(second)
  expect(counts.secondsLeft()).toBe(left)
})

test('forgets the key that was counted first when there are too many', () => {
  const { counts } = openCounts(2)
  for (const key of ['a', 'b', 'a', 'c']) counts.add(key)
  expect(['a', 'b', 'c'].map(key => counts.get(key))).toEqual([0, 1, 1])
})
