import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../wall-clock.ts'
import { expand } from './expand.ts'
import type { Series } from './split-series.ts'

/** The first member of a series from a wall clock on that was not taken; null if none is left. */
export function firstMember(series: Series, from: string): string | null {
  const { start, lines } = series
  const print = isDay(start.wall) ? printDay : printWall
  const [taken, time] = [new Set(series.taken), requireWall(from)]
  const isLeft = ({ wall }: { wall: string }) => !taken.has(wall) && !taken.has(wall.slice(0, 8))
  for (const days of [1, 400, 40_000]) {
    const to = print(Math.min(time + days * DAY_MS, WALL_TIME_END - DAY_MS))
    const found = expand({ start, lines, from: print(time), to }).members.find(isLeft)
    if (found) return found.wall
  }
  return null
}
