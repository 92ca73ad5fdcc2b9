import type { RemoteItem } from '../../../calendars.ts'
import type { EventTimes } from '../../../new-times.ts'
import type { ChangedSeries } from '../../../series-change.ts'
import { etagOf, itemSchema } from '../../items.ts'
import { pathOfEvent } from '../pages.ts'
import { planMembers, planProperty, planThere, writeMembers } from './members.ts'
import { requirePattern } from './patterns.ts'
import { EVENT_BYTES_MAX, type EventThere, requireThere, type Writing } from './there.ts'
import { requireZoneName, toTimes } from './times.ts'

export const stateOf = ({ event, recurrence, members }: RemoteItem) => ({
  times: { start: event!.start, end: event!.end },
  lines: recurrence ?? [],
  taken: members?.taken ?? [],
  exceptions: members?.exceptions.map(({ member }) => member) ?? [],
})

/** The keys of the exceptions of a series. */
export const exceptionKeys = ({ members }: RemoteItem): string[] =>
  members?.exceptions.flatMap(({ key }) => key ?? []) ?? []

export function isSame(one: EventTimes, other: EventTimes): boolean {
  const text = ({ start, end }: EventTimes) => [start.wall, start.zone, end.wall, end.zone].join()
  return text(one) === text(other)
}

/** Gives a series other times or another recurrence, and writes its members again, which Exchange ends by that. */
export async function rewriteSeries(
  work: Writing,
  {
    there,
    item,
    changed,
    patch,
  }: { there: EventThere; item: RemoteItem; changed: ChangedSeries; patch: Record<string, unknown> },
): Promise<void> {
  const { mailboxZone } = work.place
  const { times, lines } = changed
  const recurrence = requirePattern(lines, times.start, requireZoneName(times.start, mailboxZone))
  const plan = await planMembers(work, { there, item }, changed)
  await sendPatch(work, there, {
    ...patch,
    ...(!isSame(times, there.fields) && toTimes(times, mailboxZone)),
    recurrence,
    singleValueExtendedProperties: [planProperty(plan)],
  })
  await writeMembers(work, there.item.id, plan)
}

/** Goes on where an earlier write of a series stopped. */
export async function finishMembers(work: Writing, key: string): Promise<void> {
  const plan = planThere(await requireThere(work, key))
  if (plan) await writeMembers(work, key, plan)
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
