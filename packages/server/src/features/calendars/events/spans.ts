import { derivedId } from '../../../kit/ids.ts'
import type { Expansion } from '../../../kit/recurrence/expand.ts'
import type { SeriesMembers } from '../../../kit/recurrence/series.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../../../kit/wall-clock.ts'
import { toInstant, toWall } from '../../../kit/zones/zones.ts'
import type { CalendarWindow, EventTime } from '../../../providers/calendars.ts'
import { type ItemState, STEP_MEMBERS } from './item.ts'
import { isBusy, type ShownEvent } from './shown.ts'
import { storableInstant } from './storable-object.ts'
import { KEPT_BEYOND } from './window.ts'

/** A single, an exception or an occurrence, and its time. */
export interface Span {
  id: string
  /** The single or the series that it comes from. */
  root_id: string
  /** The row that it is presented from. */
  event_id: string
  start_at: string
  end_at: string
  start_wall: string
  end_wall: string
  /** The member and its key at the provider; null unless the provider expanded the series. */
  member: string | null
  provider_key: string | null
  is_busy: boolean
  is_long: boolean
}

export interface ItemSpans {
  spans: Span[]
  /** Members that the rule gives and that were taken, as instants, ascending. Null: a single. */
  cancelledStarts: string[] | null
  /** When the last known part of it ends; null: it goes on after the window. */
  endsAt: Date | null
  /** Whether a series has more members than are expanded. */
  isTruncated: boolean
}

export interface SpansOptions {
  window: CalendarWindow
  /** The zone in which whole days and floating times lie. */
  unzoned: string
}

/** The id of a member of a series, whether it is an occurrence or an exception. */
export const memberId = (seriesId: string, member: string): string => derivedId(seriesId, member)

/** @param unzoned the zone in which whole days and floating times lie */
export const instantOf = ({ wall, zone }: EventTime, unzoned: string): number =>
  storableInstant(toInstant(wall, isDay(wall) ? unzoned : (zone ?? unzoned)))

/** The instants of an event. An event that ends before it starts gets no length. */
export function instantsOf({ start, end }: Pick<ShownEvent, 'start' | 'end'>, unzoned: string) {
  const startAt = instantOf(start, unzoned)
  return { startAt, endAt: Math.max(startAt, instantOf(end, unzoned)) }
}

/** The instant of a member of a series; of a series of whole days the midnight in UTC of its date. */
export function memberInstant(member: string, start: EventTime, unzoned: string): Date {
  return new Date(
    isDay(member) ? requireWall(member) : instantOf({ wall: member, zone: start.zone }, unzoned),
  )
}

/** Whether a time overlaps a range. A time without length is in the range if it starts in it. */
export const overlaps = (from: number, to: number, { start, end }: CalendarWindow): boolean =>
  from < end.getTime() && (to > start.getTime() || from >= start.getTime())

/** The expansion that the spans of an item need. Null: a single, or a series of which only exceptions are known. */
export function expansionOf(
  { event, recurrence }: ItemState,
  { window, unzoned }: SpansOptions,
): Expansion | null {
  if (event === null || recurrence === null) return null
  const { start, end } = event.shown
  const lengthMs = requireWall(end.wall) - requireWall(start.wall)
  return {
    lines: recurrence,
    start: { wall: start.wall, zone: start.zone ?? unzoned },
    // No zone is further from UTC than a day, and what began earlier may reach into the window.
    from: clampedWall(window.start.getTime() - Math.max(lengthMs, 0) - 2 * DAY_MS),
    to: clampedWall(window.end.getTime() + 2 * DAY_MS),
  }
}

/**
 * The spans of an item: its occurrences within the window, and whatever else does not end before it. An occurrence ends
 * at the wall clock that the length of the series gives.
 * @param expanded the members of its `expansionOf`
 */
export function* spanSteps(
  id: string,
  state: ItemState,
  expanded: SeriesMembers | null,
  options: SpansOptions,
): Steps<ItemSpans> {
  const { event, recurrence, exceptions } = state
  const { window, unzoned } = options
  const fromStart = { start: window.start, end: new Date(WALL_TIME_END) }
  const spans: Span[] = []
  let done = 0
  let last = firstEnd(state, unzoned)
  const take = (span: Span, range: CalendarWindow | null) => {
    const [from, to] = [Date.parse(span.start_at), Date.parse(span.end_at)]
    last = Math.max(last, to)
    if (range === null || overlaps(from, to, range)) spans.push(span)
  }
  if (event && recurrence === null) take(spanOf(ownIds(id, id), event.shown, unzoned), fromStart)
  for (const [member, { shown }] of exceptions) {
    take(spanOf(ownIds(id, memberId(id, member)), shown, unzoned), fromStart)
    if (++done % STEP_MEMBERS === 0) yield
  }
  if (event === null || expanded === null) {
    const cancelledStarts = recurrence === null ? null : []
    return { spans, cancelledStarts, endsAt: new Date(last), isTruncated: false }
  }
  const { shown } = event
  const isGiven = state.occurrences !== null
  let lastStart = 0
  for (const occurrence of state.occurrences ?? timesOf(shown, expanded)) {
    if (++done % STEP_MEMBERS === 0) yield
    const { member, key, ...times } = occurrence
    if (exceptions.has(member) || isTaken(state, member)) continue
    const given = { member: isGiven ? member : null, provider_key: isGiven ? key : null }
    const ids = { id: memberId(id, member), root_id: id, event_id: id, ...given }
    const span = spanOf(ids, shown, unzoned, times)
    // Occurrences of the provider are stored as it gave them, so that they can be compared.
    take(span, isGiven ? null : window)
    lastStart = Math.max(lastStart, Date.parse(span.start_at))
  }
  yield
  const taken = yield* takenInstants(state, shown, expanded, options)
  for (const instant of taken) last = Math.max(last, instant)
  // The expansion reaches further than the window, and what lies there is not stored yet.
  const lastMember = isGiven ? 0 : Math.max(lastStart, taken.at(-1) ?? 0)
  const goesOn = expanded.goesOn || lastMember >= window.end.getTime()
  yield
  return {
    spans,
    cancelledStarts: taken
      .filter(instant => instant >= window.start.getTime() && instant < window.end.getTime())
      .map(instant => new Date(instant).toISOString()),
    endsAt: goesOn ? null : new Date(last),
    isTruncated: expanded.isTruncated && !isGiven,
  }
}

/** When the first known part of an item ends. */
function firstEnd({ event, taken }: ItemState, unzoned: string): number {
  if (event) return instantsOf(event.shown, unzoned).endAt
  return Math.max(0, ...[...taken.keys()].map(wall => instantOf({ wall, zone: null }, unzoned)))
}

type SpanIds = Pick<Span, 'id' | 'root_id' | 'event_id' | 'member' | 'provider_key'>

/** The ids of a span that is presented from a row of its own. */
const ownIds = (rootId: string, id: string): SpanIds => ({
  id,
  root_id: rootId,
  event_id: id,
  member: null,
  provider_key: null,
})

function spanOf(
  ids: SpanIds,
  shown: ShownEvent,
  unzoned: string,
  times: Pick<ShownEvent, 'start' | 'end'> = shown,
): Span {
  const { startAt, endAt } = instantsOf(times, unzoned)
  return {
    ...ids,
    start_at: new Date(startAt).toISOString(),
    end_at: new Date(endAt).toISOString(),
    start_wall: times.start.wall,
    end_wall: times.end.wall,
    is_busy: isBusy(shown),
    is_long: endAt - startAt > DAY_MS,
  }
}

/** The times of members as the rule gives them. */
function* timesOf({ start, end }: ShownEvent, { members }: SeriesMembers) {
  const lengthMs = requireWall(end.wall) - requireWall(start.wall)
  for (const { wall, end: own } of members)
    yield {
      member: wall,
      key: null,
      start: { wall, zone: start.zone },
      end: { wall: own ?? shiftedWall(wall, lengthMs), zone: own ? start.zone : end.zone },
    }
}

/** The members that a series lacks, as instants, ascending. */
function* takenInstants(
  state: ItemState,
  { start }: ShownEvent,
  { members }: SeriesMembers,
  { window, unzoned }: SpansOptions,
): Steps<number[]> {
  const { exceptions, occurrences } = state
  const given = occurrences && new Set(occurrences.map(({ member }) => member))
  // The provider gave its occurrences for the window of that time, which may have ended some days earlier.
  const givenUpTo = window.end.getTime() - KEPT_BEYOND.ahead * DAY_MS
  const instants: number[] = []
  for (const [nth, { wall }] of members.entries()) {
    if (nth % STEP_MEMBERS === 0) yield
    if (exceptions.has(wall) || !(given ? !given.has(wall) : isTaken(state, wall))) continue
    const instant = memberInstant(wall, start, unzoned).getTime()
    if (given === null || instant < givenUpTo) instants.push(instant)
  }
  return instants.toSorted((one, other) => one - other)
}

/** A day takes every member of that day. */
const isTaken = ({ taken }: ItemState, member: string) => taken.has(member) || taken.has(member.slice(0, 8))

/** The wall clock in UTC, or the nearest one that exists. */
const clampedWall = (instant: number) => toWall(Math.min(Math.max(instant, 0), WALL_TIME_END - 1000), 'UTC')

function shiftedWall(wall: string, byMs: number): string {
  const time = Math.min(requireWall(wall) + byMs, WALL_TIME_END - 1000)
  return isDay(wall) ? printDay(time) : printWall(time)
}
