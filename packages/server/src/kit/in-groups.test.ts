import { expect, test } from 'vitest'
import { inGroups, inGroupsByKey } from './in-groups.ts'

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

test('keeps groups to the size of their items, but does one that is larger alone', async () => {
  const groups: number[][] = []
  const act = inGroups<number, number>({
    async work(items) {
      groups.push([...items])
      await Promise.resolve()
      return items
    },
    itemsMax: 10,
    size: { of: item => item, max: 5 },
    failsAlone: () => false,
  })
  await Promise.all([1, 2, 3, 9, 1, 4, 1].map(act))
  expect(groups).toEqual([[1], [2, 3], [9], [1, 4], [1]])
})

test.each([
  ['waits for more that are on their way', 60_000, [1, 2, 3]],
  ['does not wait for them for long', 1, [1]],
])('%s', async (_, milliseconds, first) => {
  const groups: number[][] = []
  const act = inGroups<number, number>({
    async work(items) {
      groups.push([...items])
      await Promise.resolve()
      return items
    },
    itemsMax: 10,
    more: { isAwaited: count => groups.length === 0 && count < 3, milliseconds },
    failsAlone: () => false,
  })
  const answered = act(1)
  if (first.length === 1) await answered
  expect(await Promise.all([answered, ...[2, 3].map(act)])).toEqual([1, 2, 3])
  expect(groups[0]).toEqual(first)
  expect(groups.flat()).toEqual([1, 2, 3])
})

test('goes on beside a group that takes long, but not beside more than a few', async () => {
  const begun: number[] = []
  const ends = new Map<number, () => void>()
  const act = inGroups<number, number>({
    async work(items) {
      begun.push(...items)
      const end = Promise.withResolvers<void>()
      ends.set(items[0]!, end.resolve)
      await end.promise
      return items
    },
    itemsMax: 1,
    failsAlone: () => false,
    patience: { milliseconds: 0, slowMax: 1 },
  })
  const all = [1, 2, 3].map(act)
  await expect.poll(() => begun).toHaveLength(2)
  await new Promise(resolve => setImmediate(resolve))
  expect(begun).toEqual([1, 2])
  ends.get(2)!()
  await expect.poll(() => begun).toHaveLength(3)
  ends.get(3)!()
  ends.get(1)!()
  expect(await Promise.all(all)).toEqual([1, 2, 3])
})

test('does items of different keys apart', async () => {
  const groups: string[] = []
  const act = inGroupsByKey<string, string>({
    keyOf: item => item[0]!,
    async work(key, items) {
      groups.push(`${key}: ${items.join()}`)
      await Promise.resolve()
      return items
    },
    itemsMax: 10,
    failsAlone: () => false,
  })
  expect(await Promise.all(['a1', 'a2', 'b1', 'a3', 'b2'].map(act))).toEqual(['a1', 'a2', 'b1', 'a3', 'b2'])
  expect(groups.toSorted()).toEqual(['a: a1', 'a: a2,a3', 'b: b1', 'b: b2'])
})
