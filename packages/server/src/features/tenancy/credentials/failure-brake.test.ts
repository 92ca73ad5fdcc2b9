import { describe, expect, test } from 'vitest'
import type { Marks } from '../../../limits/marks.ts'
import { createMemoryWindows } from '../../../limits/memory-windows.ts'
import { createFailureBrake } from './failure-brake.ts'

/** Opens the brakes of several processes that share their counts, with a clock that is 15 seconds into a minute. */
function openBrakes({ processes = 1 } = {}) {
  let now = 1_000_000 * 60_000 + 15_000
  const clock = { now: () => now }
  const windows = createMemoryWindows(clock, 100)
  const marked = new Set<string>()
  const marks: Marks = {
    add: name => Promise.resolve(void marked.add(name)),
    has: name => Promise.resolve(marked.has(name)),
    delete: name => Promise.resolve(void marked.delete(name)),
  }
  const brakes = Array.from({ length: processes }, () =>
    createFailureBrake({ windows, marks: processes > 1 ? marks : null, clock }),
  )
  const fail = async (client: string, times: number) => {
    for (let count = 0; count < times; count += 1)
      await brakes[count % processes]?.recordFailure(client, `guess ${count}`)
  }
  return { brake: brakes[0]!, brakes, fail, pass: (seconds: number) => void (now += seconds * 1000) }
}

describe('createFailureBrake', () => {
  test('allows 20 failures in a minute, then blocks the client until the minute ends', async () => {
    const { brake, fail, pass } = openBrakes()
    await fail('a', 19)
    expect(await brake.waitSeconds('a', 'guess')).toBe(0)
    await fail('a', 1)
    expect(await brake.waitSeconds('a', 'guess')).toBe(45)
    pass(44.5)
    expect(await brake.waitSeconds('a', 'guess')).toBe(1)
    pass(0.5)
    expect(await brake.waitSeconds('a', 'guess')).toBe(0)
  })

  test('does not block other clients', async () => {
    const { brake, fail } = openBrakes()
    await fail('a', 20)
    expect(await brake.waitSeconds('b', 'guess')).toBe(0)
  })

  test('exempts a key that succeeded in the last 10 minutes, until it fails', async () => {
    const { brake, fail, pass } = openBrakes()
    brake.recordSuccess('key')
    pass(599)
    await fail('a', 20)
    expect(await brake.waitSeconds('a', 'key')).toBe(0)
    pass(1)
    await fail('a', 20)
    expect(await brake.waitSeconds('a', 'key')).toBeGreaterThan(0)
    brake.recordSuccess('key')
    expect(await brake.waitSeconds('a', 'key')).toBe(0)
    await brake.recordFailure('a', 'key')
    expect(await brake.waitSeconds('a', 'key')).toBeGreaterThan(0)
  })

  test('counts the failures of all processes together, and exempts a key that succeeded at another one', async () => {
    const { brakes, fail } = openBrakes({ processes: 3 })
    brakes[0]!.recordSuccess('key')
    await fail('a', 20)
    for (const brake of brakes) {
      expect(await brake.waitSeconds('a', 'guess')).toBeGreaterThan(0)
      expect(await brake.waitSeconds('a', 'key')).toBe(0)
    }
    await brakes[1]!.recordFailure('a', 'key')
    expect(await brakes[2]!.waitSeconds('a', 'key')).toBeGreaterThan(0)
  })
})
