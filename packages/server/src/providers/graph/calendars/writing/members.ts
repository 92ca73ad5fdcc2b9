import type { RemoteEvent } from '../../../calendars.ts'
import type { MemberPlace } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { itemSchema } from '../../items.ts'
import { ignoredSchema } from '../../resources.ts'
import { findMember } from '../members.ts'
import { pathOfEvent } from '../pages.ts'
import { withMeeting } from './bodies.ts'
import { isEmpty, type MembersPlan, NO_MEMBERS, planProperty, planThere } from './planned-members.ts'
import {
  appliedAgain,
  EVENT_BYTES_MAX,
  type EventThere,
  leftHalfDone,
  requireItem,
  requireThere,
  type Writing,
} from './there.ts'

type Exception = MembersPlan['exceptions'][number]

/** Goes on where an earlier write of a series stopped. */
export async function finishMembers(work: Writing, key: string): Promise<EventThere> {
  const there = await requireThere(work, key)
  const plan = planThere(there)
  if (plan) await writeMembers(work, key, plan, true)
  return there
}

/**
 * Writes the members of a plan, and takes the plan from the series, after the series itself was written.
 * @param isLater whether an earlier write has left the plan, so that members may have been changed since then
 */
export async function writeMembers(
  work: Writing,
  key: string,
  plan: MembersPlan,
  isLater = false,
): Promise<void> {
  if (isEmpty(plan)) return
  const there = await requireThere(work, key)
  await leftHalfDone(async () => {
    for (const member of plan.taken) await takeMember(work, there, member, isLater)
    await writeExceptions(work, there, plan.exceptions, isLater)
    await patch(work, key, { singleValueExtendedProperties: [planProperty(NO_MEMBERS)] })
  })
}

/** Deletes a member that came back. A member that was changed since then stays. */
async function takeMember(
  work: Writing,
  { event }: EventThere,
  member: string,
  isLater: boolean,
): Promise<void> {
  const { effect, place } = work
  const found = await findMember(place, event, member)
  if (!found || (isLater && (await requireThere(work, found.key)).event.type === 'exception')) return
  const path = pathOfEvent(place.calendarKey, found.key)
  await unless('not_found', () =>
    appliedAgain(() => effect.ask({ method: 'DELETE', path, schema: ignoredSchema, accepts: [204] })),
  )
}

/**
 * Exchange lets no occurrence pass the one before or after it, so those that are refused are written again once others lie
 * elsewhere. Fields that are refused then as well are left out: the times of an exception, or another one.
 */
async function writeExceptions(
  work: Writing,
  there: EventThere,
  exceptions: readonly Exception[],
  isLater: boolean,
): Promise<void> {
  let left = exceptions
  for (let isMoving = true; isMoving && left.length > 0;) {
    const refused: Exception[] = []
    for (const exception of left)
      if (!(await writeException(work, there, exception, isLater))) refused.unshift(exception)
    isMoving = refused.length < left.length
    left = refused
  }
  for (const { member, patch: whole, changedAt } of left) {
    const { start, end, isAllDay, ...others } = whole
    const times = start === undefined ? [] : [{ start, end, isAllDay }]
    const write = (part: Record<string, unknown>) =>
      writeException(work, there, { member, patch: part, changedAt }, false)
    if (await write(others)) continue
    for (const part of [...times, ...Object.entries(others).map(([name, value]) => ({ [name]: value }))])
      await write(part)
  }
}

/** @returns false if Exchange refuses it */
async function writeException(
  work: Writing,
  there: EventThere,
  { member, patch: own, changedAt }: Exception,
  isLater: boolean,
): Promise<boolean> {
  const found = await findMember(work.place, there.event, member)
  if (!found || Object.keys(own).length === 0) return true
  if (isLater && (await isChangedSince(work, found.key, changedAt))) return true
  try {
    await appliedAgain(() => patch(work, found.key, inMeeting(there, own)))
    return true
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'rejected') return false
    throw error
  }
}

/** Whether a member is an exception that was written after the plan was made: by that, or by somebody since then. */
async function isChangedSince(work: Writing, key: string, changedAt: number | null): Promise<boolean> {
  const { event, fields } = await requireThere(work, key)
  if (event.type !== 'exception') return false
  return changedAt === null || fields.updatedAt === null || fields.updatedAt.getTime() > changedAt
}

/** A body without the block of the meeting of the series would end that meeting. */
function inMeeting({ event, fields }: EventThere, own: Record<string, unknown>): Record<string, unknown> {
  const joinUrl = event.onlineMeeting?.joinUrl ?? null
  // A plan has bodies as an event has them.
  const body = own['body'] as RemoteEvent['body'] | undefined
  return joinUrl === null || !body ? own : { ...own, body: withMeeting(body, fields.body, joinUrl) }
}

const patch = ({ effect, place }: Writing, key: string, json: Record<string, unknown>): Promise<unknown> =>
  effect.ask({
    method: 'PATCH',
    path: pathOfEvent(place.calendarKey, key),
    json,
    schema: itemSchema,
    accepts: [200],
    answerBytesMax: EVENT_BYTES_MAX,
  })

async function unless(kind: ProviderFailure['kind'], work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.kind !== kind) throw error
  }
}

/** Reads a member of a series. Throws `not_found` if the series does not have it. */
export async function requireMember(
  work: Writing,
  series: EventThere,
  { member, memberKey }: MemberPlace,
): Promise<EventThere> {
  if (memberKey !== null)
    try {
      const found = await requireThere(work, memberKey)
      if (found.event.seriesMasterId === series.item.id) return found
    } catch (error) {
      // A series that was written again has other keys.
      if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
    }
  const found = await findMember(work.place, series.event, member)
  if (found) return requireThere(work, found.key)
  const item = await requireItem(work, series.item.id)
  const moved = item.occurrences?.find(one => one.member === member)
  if (moved) return requireThere(work, moved.key)
  throw new ProviderFailure('not_found', 'The series has no such occurrence.')
}
