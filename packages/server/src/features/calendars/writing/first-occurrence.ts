import type { Db } from '../../../database/pool.ts'
import type { ExpandSeries } from '../../../kit/recurrence/check-recurrence.ts'
import { type EventTarget, isTaken } from '../events/find-target.ts'

/** Whether no occurrence of a series lies before this one, so that it and those that follow are the whole series. */
export async function isFirstOccurrence(
  db: Db,
  { root, member }: EventTarget,
  { unzoned, expand }: { unzoned: string; expand: ExpandSeries },
): Promise<boolean> {
  const start = root.shown?.start
  if (!start || member === null) return false
  if (member.member <= start.wall) return true
  // The start of a series is an occurrence unless it was taken.
  if ((await isTaken(db, root.id, namesOf([start.wall]))).size === 0) return false
  const series = { lines: root.recurrence ?? [], start: { wall: start.wall, zone: start.zone ?? unzoned } }
  const { members, isTruncated } = await expand({ ...series, from: start.wall, to: member.member })
  if (isTruncated) return false
  const walls = members.map(({ wall }) => wall)
  const taken = await isTaken(db, root.id, namesOf(walls))
  return walls.every(wall => namesOf([wall]).some(name => taken.has(name)))
}

/** A member is also taken by its day. */
const namesOf = (walls: readonly string[]) => [...new Set(walls.flatMap(wall => [wall, wall.slice(0, 8)]))]
