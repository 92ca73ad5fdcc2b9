import { isDay } from '../../../kit/wall-clock.ts'
import { timesOfMember } from '../../../providers/new-times.ts'
import type { MeetingEvent } from './meeting.ts'
import type { Share } from './shares.ts'

/** A message that people get of a write. */
export interface Told {
  method: 'REQUEST' | 'CANCEL'
  /** Null: the single or series as a whole. */
  member: string | null
  /** Whether they are invited to it for the first time. */
  isNew: boolean
}

/** More changed members are told as the whole series. */
const MEMBERS_MAX = 10

/**
 * Decides what people are told whose share of a meeting was one and is the other now: only what they see of it.
 * @param from members before this wall clock are over, and the index may lack them
 */
export function planTold(before: Share, after: Share, from: string): Told[] {
  if (!after.event && before.event) {
    const rest = [...after.exceptions.keys()].map(member => request(member, false))
    return [{ method: 'CANCEL', member: null, isNew: false }, ...rest]
  }
  if (after.event && (!before.event || isWholeChanged(before, after, from)))
    return [request(null, !before.event)]
  const changed = changedMembers(before, after, from)
  return after.event && changed.length > MEMBERS_MAX ? [request(null, false)] : changed
}

const request = (member: string | null, isNew: boolean): Told => ({ method: 'REQUEST', member, isNew })

/** Whether the series itself differs, or has a member as the rule gives it that was another before. */
function isWholeChanged(before: Share, after: Share, from: string): boolean {
  if (seenOf(before.event!) !== seenOf(after.event!)) return true
  if ((before.recurrence ?? []).join('\n') !== (after.recurrence ?? []).join('\n')) return true
  const restored = [...before.taken, ...before.exceptions.keys()].filter(
    member => member >= from && !after.taken.has(member) && !after.exceptions.has(member),
  )
  return restored.length > 0
}

function changedMembers(before: Share, after: Share, from: string): Told[] {
  const told: Told[] = []
  for (const [member, event] of after.exceptions) {
    const former = before.exceptions.get(member) ?? occurrenceOf(before, member)
    if (member >= from && (!former || seenOf(former) !== seenOf(event))) told.push(request(member, !former))
  }
  const cancel = (member: string) => told.push({ method: 'CANCEL', member, isNew: false })
  for (const member of before.exceptions.keys())
    if (member >= from && !after.exceptions.has(member)) cancel(member)
  for (const member of after.taken)
    if (member >= from && !before.exceptions.has(member) && occurrenceOf(before, member)) cancel(member)
  return told
}

/** A member as the series gives it; null if the people are not invited to it. */
function occurrenceOf({ event, recurrence, taken }: Share, member: string): MeetingEvent | null {
  if (!event || !recurrence || taken.has(member) || isDay(member) !== isDay(event.start.wall)) return null
  return memberEvent(event, member)
}

/** A series as one of its members. */
export const memberEvent = (event: MeetingEvent, member: string): MeetingEvent => ({
  ...event,
  ...timesOfMember(event, member),
})

/** All that people see of an event but who else is invited. */
const seenOf = ({
  start,
  end,
  subject,
  location,
  onlineMeetingUrl,
  status,
  bodyDigest,
}: MeetingEvent): string =>
  JSON.stringify([
    start.wall,
    start.zone,
    end.wall,
    end.zone,
    subject,
    location,
    onlineMeetingUrl,
    status,
    bodyDigest,
  ])
