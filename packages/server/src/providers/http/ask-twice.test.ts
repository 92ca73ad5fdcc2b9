import { expect, test } from 'vitest'
import { ProviderFailure } from '../failure.ts'
import { askTwice } from './ask-twice.ts'

const failed = () => new ProviderFailure('unavailable', 'It failed.')

/** A provider that answers requests with themselves, unless they are bad. A batch with a large one fails as a whole. */
function playProvider({
  bad = [],
  large = [],
  isDown = false,
}: {
  bad?: number[]
  large?: number[]
  isDown?: boolean
}) {
  const batches: number[][] = []
  let checks = 0
  return {
    batches,
    checks: () => checks,
    ask: (requests: number[], repeatedMax = 1) =>
      askTwice<number, number>(requests, {
        async askAll(asked) {
          batches.push([...asked])
          if (asked.length > 1 && asked.some(request => large.includes(request))) throw failed()
          return asked.map(request =>
            bad.includes(request) || large.includes(request)
              ? { value: null, failure: failed() }
              : { value: request, failure: null },
          )
        },
        repeatedMax,
        async requireAnswer() {
          checks += 1
          if (isDown) throw failed()
        },
      }),
  }
}

const valuesOf = (outcomes: ReadonlyArray<{ value: number | null }>) => outcomes.map(({ value }) => value)

test('requests that fail are repeated once, and singly if they are to be', async () => {
  const singly = playProvider({ bad: [2, 3] })
  expect(valuesOf(await singly.ask([1, 2, 3]))).toEqual([1, null, null])
  expect(singly.batches).toEqual([[1, 2, 3], [2], [3]])
  const together = playProvider({ bad: [2, 3] })
  await together.ask([1, 2, 3], 50)
  expect(together.batches).toEqual([
    [1, 2, 3],
    [2, 3],
  ])
  expect([singly.checks(), together.checks()]).toEqual([0, 0])
})

test('an answer that is too large is asked for in halves, until only one request fails', async () => {
  const provider = playProvider({ large: [3] })
  expect(valuesOf(await provider.ask([1, 2, 3, 4, 5, 6]))).toEqual([1, 2, null, 4, 5, 6])
})

test('requests that all fail are failed messages only while the provider answers', async () => {
  const answering = playProvider({ bad: [7] })
  expect(valuesOf(await answering.ask([7]))).toEqual([null])
  expect(answering.checks()).toBe(1)
  await expect(playProvider({ bad: [7], isDown: true }).ask([7])).rejects.toThrow('It failed.')
  const down = playProvider({ bad: [1, 2, 3], isDown: true })
  await expect(down.ask([1, 2, 3])).rejects.toThrow('It failed.')
  expect(down.batches).toHaveLength(1)
})
