import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { waitUntil } from '../../test/wait-until.ts'
import { WeakValues } from './weak-values.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('makes a value once while it is used', () => {
  const values = new WeakValues<object>()
  const made = values.getOrMake('a', () => ({}))
  expect(values.getOrMake('a', () => ({}))).toBe(made)
  expect(values.getOrMake('b', () => ({}))).not.toBe(made)
})

test('keeps neither keys nor values that nobody uses', async () => {
  const values = new WeakValues<object>()
  const kept = values.getOrMake('kept', () => ({}))
  for (let nth = 0; nth < 100; nth++) values.getOrMake(`key ${nth}`, () => ({}))
  await waitUntil('the others to be collected', async () => {
    collect()
    return values.size === 1
  })
  expect(values.getOrMake('kept', () => ({}))).toBe(kept)
})
