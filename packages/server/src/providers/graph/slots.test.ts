import { expect, test } from 'vitest'
import type { Urgency } from './api.ts'
import { OwnSlots, SLOTS } from './slots.ts'

/** Lets calls wait while all slots are used, and gives one slot after the other back. @returns the order of entering */
async function enterInTurn(waiting: readonly Urgency[]): Promise<Urgency[]> {
  const slots = new OwnSlots()
  const used = await Promise.all(SLOTS.map(() => slots.enter('interactive')))
  const entered: Urgency[] = []
  const calls = waiting.map(async urgency => {
    using _slot = await slots.enter(urgency)
    entered.push(urgency)
  })
  used[0]![Symbol.dispose]()
  await Promise.all(calls)
  return entered
}

test('lets every call of mail enter before those that follow contacts', async () => {
  expect(await enterInTurn(['late', 'background', 'late', 'prompt', 'interactive'])).toEqual([
    'interactive',
    'prompt',
    'background',
    'late',
    'late',
  ])
})

test('keeps a slot free of background and late work', async () => {
  const slots = new OwnSlots()
  await slots.enter('late')
  await slots.enter('background')
  let hasEntered = false
  const third = slots.enter('late').then(() => void (hasEntered = true))
  using _mail = await slots.enter('prompt')
  expect(hasEntered).toBe(false)
  slots.rejectWaiting(new Error('the test ends'))
  await expect(third).rejects.toThrow('the test ends')
})
