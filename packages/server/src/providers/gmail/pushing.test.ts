import { describe, expect, test } from 'vitest'
import { ProviderFailure } from '../failure.ts'
import type { GmailApi } from './api.ts'
import { openPushing } from './pushing.ts'

const DAY_MS = 86_400_000
const { signal } = new AbortController()

/** Gmail as it grants watches, or refuses them, at a time of the test. */
function openAt(time: { now: number; refuses: boolean; calls: number }) {
  const ask = () => {
    time.calls++
    if (time.refuses) return Promise.reject(new ProviderFailure('forbidden', 'no'))
    return Promise.resolve({ expiration: String(7 * DAY_MS + Date.UTC(2026, 0)) })
  }
  // It answers nothing but watches.
  const api = { now: () => Date.UTC(2026, 0) + time.now, ask: ask as GmailApi['ask'] }
  return openPushing(api, { topic: 'projects/p/topics/t', watch: null, record: () => Promise.resolve() })
}

describe('a watch', () => {
  test('is kept for a day, and renewed after it', async () => {
    const time = { now: 0, refuses: false, calls: 0 }
    const pushing = openAt(time)
    for (const now of [0, 1, DAY_MS - 1]) {
      time.now = now
      await pushing.keep(signal)
    }
    expect(time.calls).toBe(1)
    time.now = DAY_MS
    await pushing.keep(signal)
    expect(time.calls).toBe(2)
  })

  test('that was renewed while the clock was ahead is renewed when it is right', async () => {
    const time = { now: 30 * DAY_MS, refuses: false, calls: 0 }
    const pushing = openAt(time)
    await pushing.keep(signal)
    time.now = 0
    await pushing.keep(signal)
    await pushing.keep(signal)
    expect(time.calls).toBe(2)
  })

  test('that was refused while the clock was ahead is requested when it is right', async () => {
    const time = { now: 30 * DAY_MS, refuses: true, calls: 0 }
    const pushing = openAt(time)
    await pushing.keep(signal)
    await pushing.keep(signal)
    expect(time.calls).toBe(1)
    Object.assign(time, { now: 0, refuses: false })
    await pushing.keep(signal)
    expect(pushing.isPushed).toBe(true)
  })
})
