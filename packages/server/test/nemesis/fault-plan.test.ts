import { expect, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { planFaults, PROCESS_FAULTS, WORLD_FAULTS } from './fault-plan.ts'

const LONG = { seconds: 1_800, processes: 3, isShort: false }

test('the same seed plans the same faults, and another seed others', () => {
  expect(planFaults(seeded(7), LONG)).toEqual(planFaults(seeded(7), LONG))
  expect(planFaults(seeded(8), LONG)).not.toEqual(planFaults(seeded(7), LONG))
})

test('a long plan has every kind of fault, does each to every process, and ends in time', () => {
  const faults = planFaults(seeded(1), LONG)
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set([...PROCESS_FAULTS, ...WORLD_FAULTS]))
  expect(new Set(faults.map(({ process }) => process))).toEqual(new Set([0, 1, 2, null]))
  for (const { atSeconds, seconds } of faults) {
    expect(atSeconds).toBeLessThan(LONG.seconds * 0.9)
    expect(atSeconds + seconds).toBeLessThanOrEqual(LONG.seconds)
  }
})

test('two faults of processes never overlap, nor do two of the world', () => {
  const faults = planFaults(seeded(3), LONG)
  for (const isOfProcess of [true, false]) {
    const track = faults.filter(({ process }) => (process !== null) === isOfProcess)
    track.slice(1).forEach(({ atSeconds }, index) => {
      const before = track[index]!
      expect(atSeconds).toBeGreaterThan(before.atSeconds + before.seconds)
    })
  }
})
