import { expect, test } from 'vitest'
import { waitUntil } from '../../../../test/wait-until.ts'
import { Folded, type FoldedOptions } from './folded.ts'

function openFolded(more: Partial<FoldedOptions<number>> = {}) {
  const stored: Array<[at: number, values: Array<[string, number]>]> = []
  const errors: unknown[] = []
  const folded = new Folded<number>({
    store: async values => void stored.push([performance.now(), [...values]]),
    onError: error => void errors.push(error),
    ...more,
  })
  return { folded, stored, errors, values: () => stored.map(([, values]) => values) }
}

test('stores what came in one moment by one call, and a key once', async () => {
  const { folded, values } = openFolded()
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['a', 3],
  ] as const)
    folded.add(key, value)
  await waitUntil('the call', async () => values().length > 0)
  expect(values()).toEqual([
    [
      ['a', 3],
      ['b', 2],
    ],
  ])
})

test('pauses between calls', async () => {
  const { folded, stored, values } = openFolded()
  const added = new Set<number>()
  await waitUntil('five calls', async () => {
    const next = added.size
    added.add(next)
    folded.add(String(next), next)
    return stored.length >= 5
  })
  const pauses = stored.slice(1).map(([at], index) => at - stored[index]![0])
  expect(Math.min(...pauses)).toBeGreaterThan(15)
  await waitUntil('the rest', async () => values().flat().length === added.size)
})

test('chooses of two values of a key as it is told', async () => {
  const { folded, values } = openFolded({ fold: Math.max })
  for (const value of [2, 3, 1]) folded.add('a', value)
  await waitUntil('the call', async () => values().length > 0)
  expect(values()).toEqual([[['a', 3]]])
})

test('takes no more keys than it has room for, and more once they are stored', async () => {
  const { folded, values } = openFolded({ keysMax: 2 })
  expect([folded.add('a', 1), folded.add('b', 1), folded.add('c', 1), folded.add('a', 2)]).toEqual([
    true,
    true,
    false,
    true,
  ])
  expect(folded.size).toBe(2)
  await waitUntil('the call', async () => values().length > 0)
  expect(folded.add('c', 1)).toBe(true)
  await waitUntil('the next call', async () => values().length > 1)
})

test('goes on after a call that failed, and loses what that was given', async () => {
  let hasFailed = false
  const kept: string[] = []
  const { folded, errors } = openFolded({
    store: async values => {
      if (!hasFailed) {
        hasFailed = true
        throw new Error('no database')
      }
      kept.push(...values.keys())
    },
  })
  folded.add('lost', 1)
  await waitUntil('the failure', async () => errors.length > 0)
  folded.add('kept', 1)
  await waitUntil('the next call', async () => kept.length > 0)
  expect(kept).toEqual(['kept'])
})
