import { derivedId } from '../../../kit/ids.ts'
import { expand } from '../../../kit/recurrence/expand.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../../../kit/wall-clock.ts'
import { toInstant, toWall } from '../../../kit/zones/zones.ts'
import type { CalendarWindow, EventTime } from '../../../providers/calendars.ts'
import type { ItemState } from './item.ts'
import { isBusy, type ShownEvent } from './shown.ts'

/** A single, an exception or an occurrence, and its time. */
export interface Span {
  id: string
  event_id: string
  start_at: string
  end_at: string
  start_wall: string
  end_wall: string
  is_busy: boolean
  is_long: boolean
}

export interface ItemSpans {
  spans: Span[]
  /** Members that the rule gives and that were taken, as instants, ascending. Null: a single. */
  cancelledStarts: string[] | null
  /** When the last that is known of it ends; null: never. */
  endsAt: Date | null
  /** Whether a series has more members than are expanded. */
  isTruncated: boolean
}

/** The id of a member of a series, whether it is an occurrence or an exception. */
export const memberId = (seriesId: string, member: string): string => derivedId(seriesId, member)

/** @param unzoned the zone in which whole days and floating times lie */
export const instantOf = ({ wall, zone }: EventTime, unzoned: string): number =>
  toInstant(wall, isDay(wall) ? unzoned : (zone ?? unzoned))

/** The instant of a member of a series; of a series of whole days the midnight in UTC of its date. */
export function memberInstant(member: string, start: EventTime, unzoned: string): Date {
  return new Date(
    isDay(member) ? requireWall(member) : instantOf({ wall: member, zone: start.zone }, unzoned),
  )
}

/**
 * The spans of an item within a window. An occurrence ends at the wall clock that the length of the series
 * gives.
 */
export function spansOf(
  id: string,
  state: ItemState,
  { window, unzoned }: { window: CalendarWindow; unzoned: string },
): ItemSpans {
  const { event, recurrence, exceptions } = state
  const own = [...exceptions].map(([member, { shown }]) => spanOf(memberId(id, member), shown, unzoned))
  const singles = event && recurrence === null ? [spanOf(id, event.shown, unzoned)] : []
  const series =
    event && recurrence !== null ? expandSeries(id, state, event.shown, { window, unzoned }) : null
  const all = [...singles, ...own, ...(series?.spans ?? [])]
  const last = Math.max(...all.map(span => Date.parse(span.end_at)), 0)
  return {
    spans: all.filter(span => isWithin(span, window)),
    cancelledStarts: series?.cancelledStarts ?? (recurrence === null ? null : []),
    endsAt: series?.goesOn ? null : new Date(last),
    isTruncated: series?.isTruncated ?? false,
  }
}

function isWithin({ start_at, end_at }: Span, { start, end }: CalendarWindow): boolean {
  const [from, to] = [Date.parse(start_at), Date.parse(end_at)]
  return from < end.getTime() && (to > start.getTime() || from >= start.getTime())
}

function spanOf(id: string, shown: ShownEvent, unzoned: string, times = shown): Span {
  const { start, end } = times
  const startAt = instantOf(start, unzoned)
  const endAt = Math.max(startAt, instantOf(end, unzoned))
  return {
    id,
    event_id: id,
    start_at: new Date(startAt).toISOString(),
    end_at: new Date(endAt).toISOString(),
    start_wall: start.wall,
    end_wall: end.wall,
    is_busy: isBusy(shown),
    is_long: endAt - startAt > DAY_MS,
  }
}

interface Times {
  member: string
  start: EventTime
  end: EventTime
}

function expandSeries(
  id: string,
  { recurrence, exceptions, taken, occurrences }: ItemState,
  shown: ShownEvent,
  { window, unzoned }: { window: CalendarWindow; unzoned: string },
) {
  const lines = [...(recurrence ?? [])]
  const start = { wall: shown.start.wall, zone: shown.start.zone ?? unzoned }
  const lengthMs = requireWall(shown.end.wall) - requireWall(shown.start.wall)
  // No zone is further from UTC than a day, and what began earlier may reach into the window.
  const from = clampedWall(window.start.getTime() - lengthMs - 2 * DAY_MS)
  const to = clampedWall(window.end.getTime() + 2 * DAY_MS)
  const { members, isTruncated } = expand({ lines, start, from, to })
  const timesOf = ({ wall, end }: (typeof members)[number]): Times => ({
    member: wall,
    start: { wall, zone: shown.start.zone },
    end: { wall: end ?? shiftedWall(wall, lengthMs), zone: end ? shown.start.zone : shown.end.zone },
  })
  const given: Times[] = occurrences ? [...occurrences] : members.map(timesOf)
  const spans = given
    .filter(({ member }) => !exceptions.has(member) && !isTaken(taken, member))
    .map(({ member, ...times }) => ({
      ...spanOf(memberId(id, member), shown, unzoned, { ...shown, ...times }),
      event_id: id,
    }))
  const cancelledStarts = members
    .filter(({ wall }) => isTaken(taken, wall) && !exceptions.has(wall))
    .map(({ wall }) => memberInstant(wall, shown.start, unzoned))
    .filter(instant => instant >= window.start && instant < window.end)
    .map(instant => instant.toISOString())
    .toSorted()
  return { spans, cancelledStarts, isTruncated, goesOn: goesOn(lines, start, to) }
}

/** A day takes every member of that day. */
const isTaken = (taken: ItemState['taken'], member: string) =>
  taken.has(member) || taken.has(member.slice(0, 8))

/** Whether a series has members after the window. */
function goesOn(lines: readonly string[], start: { wall: string; zone: string }, from: string): boolean {
  const isBounded = lines.every(line => !/^RRULE/i.test(line) || /[:;](?:COUNT|UNTIL)=/i.test(line))
  if (!isBounded) return true
  const { members, isTruncated } = expand({ lines: [...lines], start, from, to: LAST_WALL })
  return members.length > 0 || isTruncated
}

const LAST_WALL = printWall(WALL_TIME_END - 1000)

/** The wall clock in UTC, or the nearest one that exists. */
const clampedWall = (instant: number) => toWall(Math.min(Math.max(instant, 0), WALL_TIME_END - 1000), 'UTC')

function shiftedWall(wall: string, byMs: number): string {
  const time = Math.min(requireWall(wall) + byMs, WALL_TIME_END - 1000)
  return isDay(wall) ? printDay(time) : printWall(time)
}
