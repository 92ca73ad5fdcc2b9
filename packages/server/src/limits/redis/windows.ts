import { createSpentWindows } from '../spent-windows.ts'
import { type Count, type Window, type Windows, decideCount } from '../windows.ts'
import type { RedisLink } from './link.ts'
import { COUNT } from './scripts.ts'

const MINUTE_MILLISECONDS = 60_000

/** Counts in Redis, in windows of its clock. */
export function createRedisWindows(link: RedisLink, minutes = 1): Windows {
  const spent = createSpentWindows()
  return {
    async count(windows) {
      const names = windows.map(({ name }) => name)
      const each = windows.flatMap(({ limit, isOnlyChecked }) => [limit, isOnlyChecked ? 0 : 1])
      return readCount(windows, await link.run(COUNT, names, [minutes * MINUTE_MILLISECONDS, ...each]), spent)
    },
    spentSeconds: window => spent.secondsOf(window),
  }
}

/** Reads an answer of `COUNT`. Null if it is none. Notes which windows are spent. */
export function readCount(
  windows: readonly Window[],
  answer: readonly number[] | null,
  spent: ReturnType<typeof createSpentWindows>,
): Count | null {
  const [resetMilliseconds = 0, ...left] = answer ?? []
  if (resetMilliseconds <= 0 || left.length !== windows.length) return null
  const count = decideCount(windows, left, Math.ceil(resetMilliseconds / 1000))
  spent.note(windows, { left, isAccepted: count.isAccepted, resetMilliseconds })
  return count
}
