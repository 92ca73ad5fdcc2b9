import type { Window } from './windows.ts'

/** Beyond this, the one that was spent first is forgotten, and its store is asked again. */
const WINDOWS_MAX = 100_000

/** Answer of a store. */
interface Told {
  /** Requests left of each window before the count. */
  left: readonly number[]
  isAccepted: boolean
  resetMilliseconds: number
}

/**
 * The windows that are known to be spent, by the monotonic clock of this process, so that their store need not be asked
 * again.
 */
export function createSpentWindows() {
  const until = new Map<string, number>()
  return {
    note(windows: readonly Window[], { left, isAccepted, resetMilliseconds }: Told): void {
      for (const [nth, { name, isOnlyChecked }] of windows.entries()) {
        const used = isAccepted && !isOnlyChecked ? 1 : 0
        if ((left[nth] ?? 0) > used) continue
        const [first] = until.size >= WINDOWS_MAX ? until.keys() : []
        if (first !== undefined) until.delete(first)
        until.set(name, performance.now() + resetMilliseconds)
      }
    },
    secondsOf({ name }: Window): number {
      const end = until.get(name)
      if (end === undefined) return 0
      const milliseconds = end - performance.now()
      if (milliseconds > 0) return Math.ceil(milliseconds / 1000)
      until.delete(name)
      return 0
    },
  }
}
