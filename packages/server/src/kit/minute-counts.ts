import type { Clock } from './clock.ts'

const MINUTE_MILLISECONDS = 60_000

/** Counts by key. All start at zero at each minute of the clock. */
export interface MinuteCounts {
  get(key: string): number
  add(key: string): void
  /** Seconds until the current minute ends; at least 1. */
  secondsLeft(): number
}

/** Counts in this process. Beyond `keysMax` keys in one minute, the key that was counted first is forgotten. */
export function createMinuteCounts(clock: Clock, keysMax: number): MinuteCounts {
  let minute = 0
  const counts = new Map<string, number>()

  function turnMinute(): number {
    const now = clock.now()
    const current = Math.floor(now / MINUTE_MILLISECONDS)
    if (current !== minute) {
      minute = current
      counts.clear()
    }
    return now
  }

  return {
    get(key) {
      turnMinute()
      return counts.get(key) ?? 0
    },
    add(key) {
      turnMinute()
      const count = counts.get(key) ?? 0
      if (count === 0 && counts.size >= keysMax) {
        const [first] = counts.keys()
        if (first !== undefined) counts.delete(first)
      }
      counts.set(key, count + 1)
    },
    secondsLeft() {
      const now = turnMinute()
      return Math.max(1, Math.ceil(((minute + 1) * MINUTE_MILLISECONDS - now) / 1000))
    },
  }
}
