import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { doAtOnce, openSlicedWork, type Steps } from './sliced-work.ts'

const STEP_MS = 1
const SLICE_STEPS_MAX = 5

/** Works whose steps take a millisecond of a time of their own. */
function openWorks() {
  let time = 0
  const slicesOf = openSlicedWork(() => time)
  let stepsOfTurn = 0
  const stepsOfTurns: number[] = []
  function* steps(count: number): Steps<number> {
    for (let nth = 0; nth < count; nth++) {
      time += STEP_MS
      if (stepsOfTurn++ === 0)
        setImmediate(() => {
          stepsOfTurns.push(stepsOfTurn)
          stepsOfTurn = 0
        })
      yield
    }
    return count
  }
  return { slicesOf, steps, stepsOfTurns }
}

test('long work keeps the event loop for a slice at a time, however many works there are', async () => {
  const { slicesOf, steps, stepsOfTurns } = openWorks()
  const works = ['a', 'a', 'a', 'b', 'c'].map(party => slicesOf(party)(steps(100)))
  expect(await Promise.all(works)).toEqual([100, 100, 100, 100, 100])
  await nextTurn()
  expect(stepsOfTurns.length).toBeGreaterThan(0)
  expect(Math.max(...stepsOfTurns)).toBeLessThanOrEqual(SLICE_STEPS_MAX)
  expect(doAtOnce(steps(3))).toBe(3)
})

test('a party with much work lets others have their turn', async () => {
  const { slicesOf, steps } = openWorks()
  const ended: string[] = []
  const run = async (party: string, count: number) => {
    await slicesOf(party)(steps(count))
    ended.push(party)
  }
  await Promise.all([...Array.from({ length: 14 }, () => run('greedy', 100)), run('modest', 20)])
  expect(ended[0]).toBe('modest')
})

test('work that fails rejects, and the next goes on', async () => {
  const { slicesOf, steps } = openWorks()
  // oxlint-disable-next-line require-yield -- it fails before its first step
  function* failing(): Steps<void> {
    throw new Error('failed')
  }
  const failed = slicesOf('a')(failing())
  const next = slicesOf('a')(steps(10))
  await expect(failed).rejects.toThrow('failed')
  expect(await next).toBe(10)
})
