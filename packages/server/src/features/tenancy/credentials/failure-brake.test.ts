import { describe, expect, test } from 'vitest'
import { createFailureBrake } from './failure-brake.ts'

/** Opens a brake with a clock that is 15 seconds into a minute. */
function openBrake() {
  let now = 1_000_000 * 60_000 + 15_000
  const brake = createFailureBrake({ now: () => now })
  const fail = (client: string, times: number) => {
    for (let count = 0; count < times; count += 1) brake.recordFailure(client, `guess ${count}`)
  }
  return { brake, fail, pass: (seconds: number) => void (now += seconds * 1000) }
}

describe('createFailureBrake', () => {
  test('allows 20 failures in a minute, then blocks the client until the minute ends', () => {
    const { brake, fail, pass } = openBrake()
    fail('a', 19)
    expect(brake.waitSeconds('a', 'guess')).toBe(0)
    fail('a', 1)
    expect(brake.waitSeconds('a', 'guess')).toBe(45)
    pass(44.5)
    expect(brake.waitSeconds('a', 'guess')).toBe(1)
    pass(0.5)
    expect(brake.waitSeconds('a', 'guess')).toBe(0)
  })

  test('does not block other clients', () => {
    const { brake, fail } = openBrake()
    fail('a', 20)
    expect(brake.waitSeconds('b', 'guess')).toBe(0)
  })

  test('exempts a key that succeeded in the last 10 minutes, until it fails', () => {
    const { brake, fail, pass } = openBrake()
    brake.recordSuccess('key')
    pass(599)
    fail('a', 20)
    expect(brake.waitSeconds('a', 'key')).toBe(0)
    pass(1)
    fail('a', 20)
    expect(brake.waitSeconds('a', 'key')).toBeGreaterThan(0)
    brake.recordSuccess('key')
    expect(brake.waitSeconds('a', 'key')).toBe(0)
    brake.recordFailure('a', 'key')
    expect(brake.waitSeconds('a', 'key')).toBeGreaterThan(0)
  })
})
