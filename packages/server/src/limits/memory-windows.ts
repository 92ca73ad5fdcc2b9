import type { Clock } from '../kit/clock.ts'
import { createWindowCounts } from '../kit/window-counts.ts'
import { type Window, type SureWindows, decideCount } from './windows.ts'

export interface MemoryWindows extends SureWindows {
  count(windows: readonly Window[]): ReturnType<typeof decideCount>
  /** Takes the counts of the current window out of the memory: from then on another store counts. */
  take(): { name: string; count: number }[]
}

/**
 * Counts in this process, in windows of the clock. Beyond `windowsMax` windows at once, the one that was counted first
 * is forgotten.
 */
export function createMemoryWindows(clock: Clock, windowsMax: number, minutes = 1): MemoryWindows {
  const counts = createWindowCounts(clock, windowsMax, minutes)
  const leftOf = ({ name, limit }: Window) => Math.max(0, limit - counts.get(name))

  return {
    count(windows) {
      const count = decideCount(windows, windows.map(leftOf), counts.secondsLeft())
      if (count.isAccepted)
        for (const { name, isOnlyChecked } of windows) if (!isOnlyChecked) counts.add(name)
      return count
    },
    spentSeconds(window) {
      const resetSeconds = counts.secondsLeft()
      return leftOf(window) === 0 ? resetSeconds : 0
    },
    take: () => counts.take(),
  }
}
