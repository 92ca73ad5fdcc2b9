import type { Clock } from './clock.ts'

const MINUTE_MILLISECONDS = 60_000

/** Counts by key. All start at zero with each window of the clock. */
export interface WindowCounts {
  get(key: string): number
  add(key: string): void
  /** Seconds until the current window ends; at least 1. */
  secondsLeft(): number
  /** Returns the counts of the current window, and forgets them. */
  take(): { name: string; count: number }[]
}

/** Counts in this process. Beyond `keysMax` keys in one window, the key that was counted first is forgotten. */
export function createWindowCounts(clock: Clock, keysMax: number, windowMinutes = 1): WindowCounts {
  const windowMilliseconds = windowMinutes * MINUTE_MILLISECONDS
  let window = 0
  const counts = new Map<string, number>()

  function turnWindow(): number {
    const now = clock.now()
    const current = Math.floor(now / windowMilliseconds)
    if (current !== window) {
      window = current
      counts.clear()
    }
    return now
  }

  return {
    get(key) {
      turnWindow()
      return counts.get(key) ?? 0
    },
    add(key) {
      turnWindow()
      const count = counts.get(key) ?? 0
      if (count === 0 && counts.size >= keysMax) {
        const [first] = counts.keys()
        if (first !== undefined) counts.delete(first)
      }
      counts.set(key, count + 1)
    },
    secondsLeft() {
      const now = turnWindow()
      return Math.max(1, Math.ceil(((window + 1) * windowMilliseconds - now) / 1000))
    },
    take() {
      turnWindow()
      const taken = [...counts].map(([name, count]) => ({ name, count }))
      counts.clear()
      return taken
    },
  }
}
