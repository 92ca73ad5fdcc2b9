import type { RemoteItem } from '../../../calendars.ts'
import { DAY_MS } from '../../../../kit/wall-clock.ts'
import type { EventTimes } from '../../../new-times.ts'
import type { ChangedSeries } from '../../../series-change.ts'
import { etagOf, itemSchema } from '../../items.ts'
import { instantOf } from '../event-times.ts'
import { pathOfEvent } from '../pages.ts'
import { type MembersPlan, planMembers, planProperty } from './planned-members.ts'
import { requirePattern } from './patterns.ts'
import { EVENT_BYTES_MAX, type EventThere, requireItem, requireTold, type Writing } from './there.ts'
import { toSeries } from './series-times.ts'
import { requireZoneName } from './times.ts'

/** A calendar view has at most 1,825 days. */
const VIEW_MS = 1_800 * DAY_MS
const VIEWS_MAX = 20
/** The first occurrence may take place long before the start of its series. */
const AHEAD_MS = 1_000 * DAY_MS

/** A series with its members from its start up to five years ahead: those outside of the window are not to be lost either. */
export async function requireSeries(work: Writing, there: EventThere): Promise<RemoteItem> {
  const { id } = there.item
  if (!there.event.recurrence) return requireItem(work, id)
  const start = instantOf(there.fields.start)
  const begin = start - AHEAD_MS
  const ends = Math.max(start, work.connection.api.now()) + VIEW_MS
  const read: RemoteItem[] = []
  for (let from = begin; from < ends && read.length < VIEWS_MAX; from += VIEW_MS) {
    const window = { start: new Date(from), end: new Date(Math.min(from + VIEW_MS, ends)) }
    read.push(await requireItem({ place: { ...work.place, window } }, id))
  }
  const occurrences = read.flatMap(item => item.occurrences ?? [])
  const listed = new Set(occurrences.map(({ member }) => member))
  const exceptions = new Map(
    read.flatMap(({ members }) => members?.exceptions.map(one => [one.member, one] as const) ?? []),
  )
  const taken = new Set(read.flatMap(({ members }) => members?.taken ?? []))
  return {
    ...read.at(-1)!,
    occurrences,
    // An exception may lie in another view than its member.
    members: { exceptions: [...exceptions.values()], taken: [...taken].filter(one => !listed.has(one)) },
  }
}

export const stateOf = ({ event, recurrence, members }: RemoteItem) => ({
  times: { start: event!.start, end: event!.end },
  lines: recurrence ?? [],
  taken: members?.taken ?? [],
  exceptions: members?.exceptions.map(({ member }) => member) ?? [],
})

/**
 * Exchange tells the attendees of an exception when the exception ends.
 * @throws ProviderFailure `unsupported` if nobody is to be told, and an exception has attendees
 */
export function requireMembersTold({ options }: Writing, { members }: RemoteItem): void {
  requireTold(options, members?.exceptions.flatMap(({ event }) => event.attendees) ?? [])
}

/** The keys of the exceptions of a series. */
export const exceptionKeys = ({ members }: RemoteItem): string[] =>
  members?.exceptions.flatMap(({ key }) => key ?? []) ?? []

export function isSame(one: EventTimes, other: EventTimes): boolean {
  const text = ({ start, end }: EventTimes) => [start.wall, start.zone, end.wall, end.zone].join()
  return text(one) === text(other)
}

/**
 * Gives a series other times or another recurrence, if it is still as it was read.
 * @returns its members, which Exchange ends by that, and which are to be written again
 */
export async function rewriteSeries(
  work: Writing,
  {
    there,
    item,
    changed,
    patch,
  }: { there: EventThere; item: RemoteItem; changed: ChangedSeries; patch: Record<string, unknown> },
): Promise<MembersPlan> {
  const { mailboxZone } = work.place
  const { times, lines } = changed
  const series = isSame(times, there.fields)
    ? { recurrence: requirePattern(lines, times.start, requireZoneName(times.start, mailboxZone)) }
    : toSeries({ times, lines }, mailboxZone)
  const plan = await planMembers(work, { there, item }, changed)
  await sendPatch(work, there, {
    ...patch,
    ...series,
    singleValueExtendedProperties: [planProperty(plan)],
  })
  return plan
}

/** Sends what differs, unless nothing does. */
export async function sendPatch(
  { effect, place }: Writing,
  { item, version }: EventThere,
  patch: Record<string, unknown>,
): Promise<void> {
  if (Object.keys(patch).length === 0) return
  await effect.ask({
    method: 'PATCH',
    path: pathOfEvent(place.calendarKey, item.id),
    json: patch,
    ifMatch: etagOf(version),
    schema: itemSchema,
    accepts: [200],
    answerBytesMax: EVENT_BYTES_MAX,
  })
}
