import { expand } from '../../../../kit/recurrence/expand.ts'
import { DAY_MS, printWall, requireWall, WALL_TIME_END } from '../../../../kit/wall-clock.ts'
import { linesOfRecurrence } from '../edit-recurrence.ts'
import { instantIn } from '../event-times.ts'
import type { OpenEvent } from '../open-edit.ts'

/** A series whose end is not found so quickly is taken to go on. */
const BOUNDS = { periods: 300, members: 1 }
/** No zone is further from UTC, in which days and floating times are taken here. */
const ZONES_MS = DAY_MS

/** Whether nothing of an event takes place any more. */
export function isOver(open: OpenEvent): boolean {
  const { master, overrides, context } = open
  const until = context.now.getTime() - ZONES_MS
  const events = [...(master ? [master.event] : []), ...overrides.flatMap(({ event }) => event ?? [])]
  return events.every(({ end }) => instantIn(end) < until) && !(master && goesOn(master, until))
}

function goesOn({ node, event: { start, end } }: NonNullable<OpenEvent['master']>, from: number): boolean {
  const lines = linesOfRecurrence(node)
  if (lines === null) return false
  const lengthMs = requireWall(end.wall) - requireWall(start.wall)
  const { members, isTruncated } = expand(
    {
      lines,
      start: { wall: start.wall, zone: start.zone ?? 'UTC' },
      from: printWall(Math.max(0, from - lengthMs - ZONES_MS)),
      to: printWall(WALL_TIME_END - 1_000),
    },
    BOUNDS,
  )
  return members.length > 0 || isTruncated
}
