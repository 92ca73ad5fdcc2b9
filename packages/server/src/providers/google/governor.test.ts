import { describe, expect, test } from 'vitest'
import { ProviderFailure } from '../failure.ts'
import { QuotaGovernor, type Urgency } from './governor.ts'

function start(userUnitsPerMinute = 6_000, projectUnitsPerMinute = 1_200_000) {
  const clock = { seconds: 1_000 }
  const governor = new QuotaGovernor({
    userUnitsPerMinute,
    projectUnitsPerMinute,
    now: () => clock.seconds * 1_000,
  })
  const take = async (units: number, urgency: Urgency, user = 'ada') => {
    try {
      await governor.userOf('project', user).take(units, urgency)
      return 'taken'
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      expect(error).toMatchObject({ kind: 'throttled', isBeforeAcceptance: true, isBusy: true })
      return error.retryAfterSeconds
    }
  }
  return { clock, governor, take }
}

describe('QuotaGovernor', () => {
  test('gives background work 80 % of a minute, and prompt calls the rest', async () => {
    const { take } = start()
    for (let calls = 0; calls < 240; calls += 1) expect(await take(20, 'background')).toBe('taken')
    expect(await take(20, 'background')).toBe(61)
    for (let calls = 0; calls < 60; calls += 1) expect(await take(20, 'prompt')).toBe('taken')
    expect(await take(20, 'prompt')).toBe(61)
    expect(await take(20, 'background', 'ben')).toBe('taken')
  })

  test('never lets a window of 60 seconds have more than its units', async () => {
    const { clock, take } = start(100)
    const taken: number[] = []
    for (let tenths = 0; tenths < 3_000; tenths += 1) {
      clock.seconds = 1_000 + tenths / 10
      if ((await take(7, 'prompt')) === 'taken') taken.push(clock.seconds)
    }
    for (const from of taken)
      expect(taken.filter(at => at >= from && at < from + 60).length * 7).toBeLessThanOrEqual(100)
    expect(taken.length * 7).toBeGreaterThan(300)
  })

  test('returns the time until there is room again', async () => {
    const { clock, take } = start(100)
    await take(50, 'prompt')
    clock.seconds += 30
    await take(50, 'prompt')
    const wait = await take(20, 'prompt')
    clock.seconds += Number(wait)
    expect(await take(20, 'prompt')).toBe('taken')
    expect(await take(40, 'prompt')).toBeGreaterThan(20)
  })

  test('bounds a project over its users', async () => {
    const { take } = start(6_000, 1_000)
    expect(await take(700, 'background', 'ada')).toBe('taken')
    expect(await take(200, 'background', 'ben')).toBe(61)
    expect(await take(200, 'prompt', 'ben')).toBe('taken')
  })

  test('takes a call that costs more than a whole minute when nothing else was used', async () => {
    const { take } = start(10)
    expect(await take(100, 'background')).toBe('taken')
    expect(await take(1, 'prompt')).toBe(61)
  })

  test('pauses after a refusal, longer after each, and counts simultaneous refusals once', async () => {
    const { clock, governor, take } = start()
    const quota = governor.userOf('project', 'ada')
    expect(quota.refused(null, 'user')).toBe(2)
    expect(quota.refused(null, 'user')).toBe(2)
    expect(await take(1, 'prompt')).toBe(2)
    clock.seconds += 2
    expect(await take(1, 'prompt')).toBe('taken')
    expect(quota.refused(null, 'user')).toBe(4)
    clock.seconds += 4
    expect(quota.refused(30, 'user')).toBe(30)
    clock.seconds += 600
    expect(quota.refused(null, 'user')).toBe(2)
  })

  test('pauses one user for a refusal of that user, and all users of a project for one of the project', async () => {
    const { clock, governor, take } = start()
    const quota = governor.userOf('project', 'ada')
    quota.refused(10, 'user')
    expect([await take(1, 'prompt', 'ada'), await take(1, 'prompt', 'ben')]).toEqual([10, 'taken'])
    clock.seconds += 10
    quota.refused(20, 'project')
    expect([await take(1, 'prompt', 'ada'), await take(1, 'prompt', 'ben')]).toEqual([20, 20])
    await governor.userOf('another project', 'ben').take(1, 'prompt')
  })
})
