import type { Clock } from '../kit/clock.ts'
import { createMinuteCounts } from '../kit/minute-counts.ts'
import type { Count, Window, WindowStore } from './rate-windows.ts'

/** Limits the windows in memory. They belong to authenticated tenants and credentials. */
const WINDOWS_MAX = 1_000_000

/** Counts in this process, in windows of one minute of the clock. */
export function createMemoryWindows(clock: Clock): WindowStore {
  const counts = createMinuteCounts(clock, WINDOWS_MAX)
  const leftOf = ({ name, limit }: Window) => Math.max(0, limit - counts.get(name))

  return {
    count(windows): Count {
      const resetSeconds = counts.secondsLeft()
      const tightest = windows.reduce((least, window) => (leftOf(window) < leftOf(least) ? window : least))
      const left = leftOf(tightest)
      if (left === 0) return { isAccepted: false, limit: tightest.limit, remaining: 0, resetSeconds }
      for (const { name } of windows) counts.add(name)
      return { isAccepted: true, limit: tightest.limit, remaining: left - 1, resetSeconds }
    },
    spentSeconds(window) {
      const resetSeconds = counts.secondsLeft()
      return leftOf(window) === 0 ? resetSeconds : 0
    },
  }
}
