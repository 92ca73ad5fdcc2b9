import { expect, test } from 'vitest'
import { openSemaphore } from './semaphore.ts'

test('runs a limited number at once and the rest in order, and refuses when too many wait', async () => {
  const semaphore = openSemaphore({ atOnce: 2, waitingMax: 2 })
  const begun: number[] = []
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<number>())
  const taken = ends.map(({ promise }, nth) =>
    semaphore.take(() => {
      begun.push(nth)
      return promise
    }),
  )
  expect(begun).toEqual([0, 1])
  expect(taken[4]).toBeNull()

  ends[1]!.reject(new Error('failed'))
  await expect(taken[1]).rejects.toThrow('failed')
  await expect.poll(() => begun).toEqual([0, 1, 2])
  for (const nth of [0, 2, 3]) {
    ends[nth]!.resolve(nth)
    expect(await taken[nth]).toBe(nth)
  }
  expect(begun).toEqual([0, 1, 2, 3])
  expect(await semaphore.take(async () => 7)).toBe(7)
})
