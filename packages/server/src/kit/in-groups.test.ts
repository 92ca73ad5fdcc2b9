import { expect, test } from 'vitest'
import { inGroups } from './in-groups.ts'

function recorded(work: (items: readonly number[]) => number[], itemsMax = 10) {
  const groups: number[][] = []
  const act = inGroups<number, number>({
    async work(items) {
      groups.push([...items])
      await Promise.resolve()
      return work(items)
    },
    itemsMax,
    failsAlone: error => error instanceof RangeError,
  })
  return { groups, act }
}

test('does the first item at once, and those that arrive meanwhile together', async () => {
  const { groups, act } = recorded(items => items.map(item => item * 2))
  expect(await Promise.all([1, 2, 3].map(act))).toEqual([2, 4, 6])
  expect(await act(4)).toBe(8)
  expect(groups).toEqual([[1], [2, 3], [4]])
})

test('keeps groups to their size', async () => {
  const { groups, act } = recorded(items => [...items], 2)
  expect(await Promise.all([1, 2, 3, 4].map(act))).toEqual([1, 2, 3, 4])
  expect(groups).toEqual([[1], [2, 3], [4]])
})

test('does each item of a failed group alone, so that only the cause fails', async () => {
  const { groups, act } = recorded(items => {
    if (items.includes(3)) throw new Error('3 fails')
    return [...items]
  })
  expect(await Promise.allSettled([1, 2, 3, 4].map(act))).toMatchObject([
    { value: 1 },
    { value: 2 },
    { reason: { message: '3 fails' } },
    { value: 4 },
  ])
  expect(groups).toEqual([[1], [2, 3, 4], [2], [3], [4]])
})

test('fails a whole group at once where each item would fail alone', async () => {
  const { groups, act } = recorded(items => {
    if (items.length > 1) throw new RangeError('nothing can be done now')
    return [...items]
  })
  expect(await Promise.allSettled([1, 2, 3].map(act))).toMatchObject([
    { value: 1 },
    { reason: { message: 'nothing can be done now' } },
    { reason: { message: 'nothing can be done now' } },
  ])
  expect(groups).toEqual([[1], [2, 3]])
})
