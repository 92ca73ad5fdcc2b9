import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../wall-clock.ts'
import { expand } from './expand.ts'
import type { Series } from './split-series.ts'

/** More members are not looked at one by one. */
const SINGLE_MAX = 200

/**
 * Finds the members of a list that a series gives. A day on a series with times counts if it has a member on that day. If a
 * bound is reached, members count that may be given.
 */
export function findHits(
  { start, lines }: Omit<Series, 'taken'>,
  members: readonly string[],
): ReadonlySet<string> {
  if (members.length === 0) return new Set()
  const print = isDay(start.wall) ? printDay : printWall
  const behind = (wall: string) =>
    Math.min(requireWall(wall) + (isDay(wall) ? DAY_MS : 1_000), WALL_TIME_END - DAY_MS)
  const sorted = members.toSorted()
  const first = print(requireWall(sorted[0]!))
  const last = Math.max(...members.map(behind))
  const all = expand({ start, lines, from: first, to: print(last) })
  const walls = new Set(all.members.map(({ wall }) => wall))
  const days = new Set(all.members.map(({ wall }) => wall.slice(0, 8)))
  const isHit = (member: string) => (isDay(member) ? days.has(member) : walls.has(member))
  if (!all.isTruncated) return new Set(members.filter(isHit))
  const isGiven = (member: string) => {
    const one = expand({ start, lines, from: print(requireWall(member)), to: print(behind(member)) })
    return one.isTruncated || one.members.length > 0
  }
  return new Set(members.filter((member, index) => isHit(member) || index >= SINGLE_MAX || isGiven(member)))
}
