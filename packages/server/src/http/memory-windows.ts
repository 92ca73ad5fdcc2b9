import type { Clock } from '../kit/clock.ts'
import type { Count, Window, WindowStore } from './rate-windows.ts'

const MINUTE_MILLISECONDS = 60_000

/**
 * Counts in this process, by the minutes of the clock. It holds one number for each tenant and credential that sent a
 * request in the current minute, all of them authenticated.
 */
export function createMemoryWindows(clock: Clock): WindowStore {
  let minute = 0
  const counts = new Map<string, number>()

  /** Seconds until the current minute ends. */
  function turnMinute(): number {
    const now = clock.now()
    const current = Math.floor(now / MINUTE_MILLISECONDS)
    if (current !== minute) {
      minute = current
      counts.clear()
    }
    return Math.max(1, Math.ceil(((minute + 1) * MINUTE_MILLISECONDS - now) / 1000))
  }
  const leftOf = ({ name, limit }: Window) => Math.max(0, limit - (counts.get(name) ?? 0))

  return {
    count(windows): Count {
      const resetSeconds = turnMinute()
      const tightest = windows.reduce((least, window) => (leftOf(window) < leftOf(least) ? window : least))
      const left = leftOf(tightest)
      if (left === 0) return { isAccepted: false, limit: tightest.limit, remaining: 0, resetSeconds }
      for (const { name } of windows) counts.set(name, (counts.get(name) ?? 0) + 1)
      return { isAccepted: true, limit: tightest.limit, remaining: left - 1, resetSeconds }
    },
    spentSeconds(window) {
      const resetSeconds = turnMinute()
      return leftOf(window) === 0 ? resetSeconds : 0
    },
  }
}
