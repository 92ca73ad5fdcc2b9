import { expect, test } from 'vitest'
import { seeded } from '../seeded.ts'
import {
  BOOK_FAULTS,
  GRAPH_FAULTS,
  LONG_WORLD_FAULTS,
  planFaults,
  PROCESS_FAULTS,
  STORE_FAULTS,
  WORLD_FAULTS,
} from './fault-plan.ts'

const LONG = { seconds: 1_800, processes: 3, hasStores: true, isShort: false }

test('the same seed plans the same faults, and another seed others', () => {
  expect(planFaults(seeded(7), LONG)).toEqual(planFaults(seeded(7), LONG))
  expect(planFaults(seeded(8), LONG)).not.toEqual(planFaults(seeded(7), LONG))
})

test('a long plan has every kind of fault, does each to every process, and ends in time', () => {
  const faults = planFaults(seeded(1), LONG)
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(
    new Set([
      ...PROCESS_FAULTS,
      ...WORLD_FAULTS,
      ...LONG_WORLD_FAULTS,
      ...STORE_FAULTS,
      ...GRAPH_FAULTS,
      ...BOOK_FAULTS,
    ]),
  )
  expect(new Set(faults.map(({ process }) => process))).toEqual(new Set([0, 1, 2, null]))
  for (const { atSeconds, seconds } of faults) {
    expect(atSeconds).toBeLessThan(LONG.seconds * 0.9)
    expect(atSeconds + seconds).toBeLessThanOrEqual(LONG.seconds)
  }
})

test('a plan without stores has no faults of theirs', () => {
  const faults = planFaults(seeded(1), { ...LONG, hasStores: false })
  expect(new Set(faults.map(({ track }) => track))).toEqual(new Set(['processes', 'world', 'graph', 'books']))
})

test('two faults of one track never overlap', () => {
  const tracks = Map.groupBy(planFaults(seeded(3), LONG), ({ track }) => track)
  expect([...tracks.keys()].toSorted()).toEqual(['books', 'graph', 'processes', 'stores', 'world'])
  for (const track of tracks.values()) {
    track.slice(1).forEach(({ atSeconds }, index) => {
      const before = track[index]!
      expect(atSeconds).toBeGreaterThan(before.atSeconds + before.seconds)
    })
  }
})
