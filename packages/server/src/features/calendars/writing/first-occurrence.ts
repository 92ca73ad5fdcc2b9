import { DAY_MS, isDay, printDay, printWall } from '../../../kit/wall-clock.ts'
import type { Db } from '../../../database/pool.ts'
import { type EventTarget, isTaken } from '../events/find-target.ts'
import type { PlanOptions } from './plan-event.ts'

/**
 * Whether no occurrence of a series lies before this one, so that it and those that follow are the whole series.
 * @param readTaken the members of the series that the provider names as taken; null: it does not name all of them
 */
export async function isFirstOccurrence(
  db: Db,
  { root, member }: EventTarget,
  {
    unzoned,
    window,
    expand,
    readTaken,
  }: Pick<PlanOptions, 'unzoned' | 'window' | 'expand'> & {
    readTaken: () => Promise<readonly string[] | null>
  },
): Promise<boolean> {
  const start = root.shown?.start
  if (!start || member === null) return false
  if (member.member <= start.wall) return true
  const series = { lines: root.recurrence ?? [], start: { wall: start.wall, zone: start.zone ?? unzoned } }
  /** Members of a range; null: too many. */
  const list = async (from: string, to: string) => {
    const { members, isTruncated } = await expand({ ...series, from, to })
    return isTruncated ? null : members.map(({ wall }) => wall)
  }
  const areTaken = (walls: readonly string[], taken: ReadonlySet<string>) =>
    walls.every(wall => namesOf([wall]).some(name => taken.has(name)))

  // Before the window, the index does not have members that were taken.
  const print = isDay(start.wall) ? printDay : printWall
  const known = [start.wall, print(window.start.getTime() + DAY_MS)].toSorted()[1]!
  const from = known < member.member ? known : member.member
  const walls = await list(from, member.member)
  if (!walls || !areTaken(walls, await isTaken(db, root.id, namesOf(walls)))) return false
  const earlier = from > start.wall ? await list(start.wall, from) : []
  if (!earlier || earlier.length === 0) return earlier !== null
  const taken = await readTaken()
  return taken !== null && areTaken(earlier, new Set(taken))
}

/** A member is also taken by its day. */
const namesOf = (walls: readonly string[]) => [...new Set(walls.flatMap(wall => [wall, wall.slice(0, 8)]))]
