import { expect, test } from 'vitest'
import type { ProviderFailure } from '../failure.ts'
import { GraphGovernor } from './governor.ts'
import { OwnSlots } from './slots.ts'

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: ProviderFailure) => error,
  )

function open(callsMax = 100) {
  const clock = { at: 1_000_000_000 }
  const governor = new GraphGovernor({ callsMax, now: () => clock.at })
  return { clock, quota: governor.quotaOf('app mailbox', new OwnSlots()), governor }
}

test('has room again ten minutes after calls, and no sooner', async () => {
  const { clock, quota } = open()
  await quota.take(100, 'interactive')
  const failure = await failureOf(quota.take(1, 'interactive'))
  expect(failure).toMatchObject({ kind: 'throttled', isBusy: true })
  expect(failure!.retryAfterSeconds).toBeGreaterThanOrEqual(600)
  expect(failure!.retryAfterSeconds).toBeLessThanOrEqual(620)
  clock.at += 600_000
  expect(await failureOf(quota.take(1, 'interactive'))).not.toBeNull()
  clock.at += 11_000
  expect(await failureOf(quota.take(100, 'interactive'))).toBeNull()
})

test('never lets ten minutes have more calls than the quota', async () => {
  const { clock, quota } = open(50)
  const taken: number[] = []
  for (let step = 0; step < 3_000; step += 1) {
    clock.at += 1_700
    if ((await failureOf(quota.take(1, 'interactive'))) === null) taken.push(clock.at)
  }
  for (const at of taken) {
    const within = taken.filter(other => other >= at && other < at + 600_000)
    expect(within.length).toBeLessThanOrEqual(50)
  }
  expect(taken.length).toBeGreaterThan(350)
})

test('leaves a part to prompt calls, and the last part to interactive ones', async () => {
  const { quota } = open()
  await quota.take(80, 'background')
  expect(await failureOf(quota.take(1, 'background'))).not.toBeNull()
  await quota.take(15, 'prompt')
  expect(await failureOf(quota.take(1, 'prompt'))).not.toBeNull()
  await quota.take(5, 'interactive')
})

test('counts each mailbox of each app for itself', async () => {
  const { governor, quota } = open()
  await quota.take(100, 'interactive')
  await governor.quotaOf('app other', new OwnSlots()).take(100, 'interactive')
  await governor.quotaOf('another mailbox', new OwnSlots()).take(100, 'interactive')
})

test('pauses for the time that Graph names, and otherwise longer each time', async () => {
  const { clock, quota } = open()
  expect(quota.refused(30)).toBe(30)
  expect(await failureOf(quota.take(1, 'interactive'))).toMatchObject({ retryAfterSeconds: 30 })
  clock.at += 200_000
  const pauses = []
  for (let refusal = 0; refusal < 7; refusal += 1) {
    const pause = quota.refused(null)
    pauses.push(pause)
    clock.at += pause * 1_000
  }
  expect(pauses).toEqual([2, 4, 8, 16, 32, 64, 64])
})

test('has three requests under way, one of them never for background work', async () => {
  const slots = new OwnSlots()
  const background = [await slots.enter('background'), await slots.enter('background')]
  const order: string[] = []
  const late = slots.enter('background').then(slot => (order.push('background'), slot))
  const prompt = await slots.enter('prompt')
  const second = slots.enter('prompt').then(slot => (order.push('prompt'), slot))
  const person = slots.enter('interactive').then(slot => (order.push('interactive'), slot))
  prompt[Symbol.dispose]()
  prompt[Symbol.dispose]()
  const third = await person
  third[Symbol.dispose]()
  const fourth = await second
  fourth[Symbol.dispose]()
  background[0]![Symbol.dispose]()
  const last = await late
  expect(order).toEqual(['interactive', 'prompt', 'background'])
  last[Symbol.dispose]()
  background[1]![Symbol.dispose]()
  expect(slots.isIdle).toBe(true)
})

test('gives up the wait for a slot with its signal', async () => {
  const slots = new OwnSlots([0])
  const held = await slots.enter('prompt')
  const stop = new AbortController()
  const waiting = failureOf(slots.enter('prompt', stop.signal))
  stop.abort()
  expect(await waiting).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
  held[Symbol.dispose]()
  expect(slots.isIdle).toBe(true)
})
