import type { CheckedRecurrence } from '../../../../kit/recurrence/check-recurrence.ts'
import { expand } from '../../../../kit/recurrence/expand.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../../../../kit/wall-clock.ts'
import { ProviderFailure } from '../../../failure.ts'
import { type EventTimes, timesOfMember } from '../../../new-times.ts'
import { requirePattern, type WrittenRecurrence } from './patterns.ts'
import { isSameIn, requireZoneName, writeTimes, type WrittenTimes, zoneThere } from './times.ts'

/** The members whose instants are compared with those at Exchange. */
const COMPARED_DAYS = 10 * 366
const COMPARED_MAX = 1_000

/** The content lines of a recurrence as a caller gives it. */
export const linesOf = ({ rule, dates }: CheckedRecurrence): string[] => [
  `RRULE:${rule}`,
  ...dates.map(({ wall }) => `RDATE:${wall}`),
]

/**
 * The times and the recurrence of a series as they are written. Throws `unsupported` if Exchange has no pattern with the
 * same members, or if it has other rules for the zone of the series, so that members would take place at other times.
 */
export function toSeries(
  { times, lines }: { times: EventTimes; lines: readonly string[] },
  mailboxZone: string | null,
): WrittenTimes & { recurrence: WrittenRecurrence } {
  const recurrence = requirePattern(lines, times.start, requireZoneName(times.start, mailboxZone))
  const { start } = times
  const [first, last] = [zoneThere(start, mailboxZone), zoneThere(times.end, mailboxZone)]
  const print = isDay(start.wall) ? printDay : printWall
  const to = print(Math.min(requireWall(start.wall) + COMPARED_DAYS * DAY_MS, WALL_TIME_END - DAY_MS))
  const bounds = { periods: 10 * COMPARED_MAX, members: COMPARED_MAX }
  const { members } = expand({ lines: [...lines], start, from: start.wall, to }, bounds)
  for (const { wall } of members) {
    const member = timesOfMember(times, wall)
    if (isSameIn(member.start, first) && isSameIn(member.end, last)) continue
    const zone = start.zone?.slice(0, 100)
    throw new ProviderFailure('unsupported', `Exchange has other rules for the time zone ${zone}.`)
  }
  return { ...writeTimes(times, mailboxZone), recurrence }
}
