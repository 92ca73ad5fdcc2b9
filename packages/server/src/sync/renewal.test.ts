import { expect, test } from 'vitest'
import { Renewal } from './renewal.ts'

const PACE = { everySeconds: 3_600, soonestSeconds: 30 }
const BEGUN_MS = 1e9

test.each<[string, number, number, number | null, number]>([
  ['after two thirds of an hour at least', 0, 0, null, 2_400],
  ['after an hour on average', 0.5, 0, null, 3_600],
  ['after four thirds of an hour at most', 1, 0, null, 4_800],
  ['sooner, the older the connection is', 0.5, 3_000, null, 600],
  ['at once when it is older', 0.5, 9_000, null, 0],
  ['half a minute after its beginning if it is asked for before', 0.5, 10, 5, 20],
  ['at once if it is asked for later', 0.5, 100, 100, 0],
])('a connection is renewed %s', (_, random, ageSeconds, askedAtSeconds, seconds) => {
  const renewal = new Renewal(PACE, BEGUN_MS, random)
  if (askedAtSeconds !== null) renewal.ask()
  expect(renewal.untilDueSeconds(BEGUN_MS + ageSeconds * 1_000)).toBeCloseTo(seconds, 6)
})
