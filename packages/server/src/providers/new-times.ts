import { DAY_MS, isDay, printDay, printWall, requireWall } from '../kit/wall-clock.ts'
import { toInstant, toWall } from '../kit/zones/zones.ts'
import type { EventTime } from './calendars.ts'
import type { EventChange, TimesOf } from './changing-calendars.ts'

/* The times of an event that a change leaves. */

export interface EventTimes {
  start: EventTime
  end: EventTime
}

/**
 * The start and end of an event after a change. A new start without an end keeps the length. With `timesOf`, the times of
 * the change are those of that member of a series, and the whole series moves by the difference between wall clocks. The
 * caller checks that the end is after the start, and that both are days or both are times.
 * @param before of a single, of a series, or of the exception that is changed
 */
export function newTimes(
  before: EventTimes,
  change: Partial<EventTimes>,
  timesOf: string | null = null,
): EventTimes {
  if (!change.start && !change.end) return before
  if (timesOf === null) return timesAfter(before, change)
  const member = timesOfMember(before, timesOf)
  const after = timesAfter(member, change)
  // Without a time of its own, a day counts as its midnight.
  return {
    start: moveBack(after.start, before.start, member.start),
    end: moveBack(after.end, before.start, member.start),
  }
}

/**
 * A change of a series as it is to be applied to the series with this start, with the member whose times the change has. If
 * an earlier try has moved the series already, its times are those that the series is to have.
 * @returns null if the series was moved to another place meanwhile
 */
export function changeFrom(
  start: EventTime,
  change: EventChange,
  timesOf: TimesOf | null,
): { change: EventChange; timesOf: string | null } | null {
  if (timesOf === null) return { change, timesOf }
  const { member, seriesStart } = timesOf
  const isAsPlanned = !seriesStart || isSameTime(start, seriesStart)
  if (isAsPlanned || (!change.start && !change.end)) return { change, timesOf: member }
  const from = { wall: member, zone: seriesStart.zone }
  if (!change.start || !isSameTime(start, moveBack(change.start, seriesStart, from))) return null
  const end = change.end && moveBack(change.end, seriesStart, from)
  return { change: { ...change, start, ...(end && { end }) }, timesOf: null }
}

/** Whether two times are the same wall clock at the same instant. A provider may name a zone otherwise. */
function isSameTime(one: EventTime, other: EventTime): boolean {
  if (one.wall !== other.wall || (one.zone === null) !== (other.zone === null)) return false
  if (one.zone === other.zone || one.zone === null || other.zone === null) return true
  return toInstant(one.wall, one.zone) === toInstant(other.wall, other.zone)
}

/** The times of a member of a series that is no exception: it ends at the wall clock that the length of the series gives. */
export function timesOfMember(
  { start, end }: EventTimes,
  member: string,
  memberEnd: string | null = null,
): EventTimes {
  const moved =
    memberEnd ?? printLike(end.wall, requireWall(end.wall) + requireWall(member) - requireWall(start.wall))
  return { start: { wall: member, zone: start.zone }, end: { wall: moved, zone: end.zone } }
}

function timesAfter(before: EventTimes, change: Partial<EventTimes>): EventTimes {
  const start = change.start ?? before.start
  return { start, end: change.end ?? endAfter(start, before) }
}

/** The end of an event with a new start, which is as long as before. Days become as many days, and parts of days whole ones. */
function endAfter(start: EventTime, before: EventTimes): EventTime {
  const isSameZone = before.start.zone === before.end.zone
  const length = isSameZone
    ? requireWall(before.end.wall) - requireWall(before.start.wall)
    : toInstant(before.end.wall, before.end.zone ?? 'UTC') -
      toInstant(before.start.wall, before.start.zone ?? 'UTC')
  const time = requireWall(start.wall)
  if (isDay(start.wall))
    return { wall: printDay(time + Math.max(1, Math.ceil(length / DAY_MS)) * DAY_MS), zone: null }
  if (isSameZone || before.end.zone === null || start.zone === null)
    return { wall: printWall(time + length), zone: start.zone }
  return { wall: toWall(toInstant(start.wall, start.zone) + length, before.end.zone), zone: before.end.zone }
}

/** A time of a member as that of the first one. */
function moveBack({ wall, zone }: EventTime, first: EventTime, member: EventTime): EventTime {
  const difference = requireWall(first.wall) - requireWall(member.wall)
  return { wall: printLike(wall, requireWall(wall) + difference), zone }
}

const printLike = (like: string, time: number): string => (isDay(like) ? printDay(time) : printWall(time))
