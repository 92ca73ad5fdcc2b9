import { z } from 'zod'
import type { RemoteItem } from '../../../calendars.ts'
import type { MemberPlace } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { type EventTimes, timesOfMember } from '../../../new-times.ts'
import { shiftWall } from '../../../../kit/recurrence/shift-rule.ts'
import { itemSchema } from '../../items.ts'
import { ignoredSchema } from '../../resources.ts'
import { findMember } from '../members.ts'
import { pathOfEvent } from '../pages.ts'
import {
  EVENT_BYTES_MAX,
  type EventThere,
  MEMBERS_PROPERTY,
  requireItem,
  requireThere,
  type Writing,
} from './there.ts'
import { toTimes } from './times.ts'

/*
 * A change of the recurrence or of the times of a series ends its exceptions, and the members that were deleted come back.
 * So they are written again. Until that is done, the series has a list of them in a property of its own, by which a later
 * try goes on where another one stopped.
 */

/** Characters of the list. Longer ones are not stored. */
const STORED_MAX = 30_000

/** Fields of an exception that may differ from those of its series. */
const OWN_FIELDS = [
  'subject',
  'body',
  'location',
  'showAs',
  'sensitivity',
  'importance',
  'categories',
  'isReminderOn',
  'reminderMinutesBeforeStart',
] as const

const planSchema = z.object({
  taken: z.array(z.string()),
  exceptions: z.array(z.object({ member: z.string(), patch: z.record(z.string(), z.unknown()) })),
})

/** Members of a series that are to be written: deleted ones, and exceptions with the fields that are their own. */
export type MembersPlan = z.infer<typeof planSchema>

export const isEmpty = ({ taken, exceptions }: MembersPlan): boolean =>
  taken.length === 0 && exceptions.length === 0

/** The property in which a series has its plan. */
export function planProperty(plan: MembersPlan): { id: string; value: string } {
  const text = JSON.stringify(plan)
  const isStored = !isEmpty(plan) && text.length <= STORED_MAX
  return { id: MEMBERS_PROPERTY, value: isStored ? text : '' }
}

/** The plan that an earlier write of a series has left; null if there is none. */
export function planThere({ item }: EventThere): MembersPlan | null {
  const properties = item['singleValueExtendedProperties']
  const [property] = Array.isArray(properties) ? (properties as Array<{ value?: unknown }>) : []
  if (typeof property?.value !== 'string' || property.value === '') return null
  try {
    return planSchema.safeParse(JSON.parse(property.value)).data ?? null
  } catch {
    return null
  }
}

/**
 * Plans the members of a series that gets another recurrence or other times.
 * @param moved the new names of exceptions by their former ones
 */
export async function planMembers(
  writing: Writing,
  series: { there: EventThere; item: RemoteItem },
  {
    taken,
    exceptions: moved,
    times,
  }: { taken: readonly string[]; exceptions: ReadonlyMap<string, string>; times: EventTimes },
): Promise<MembersPlan> {
  const exceptions: MembersPlan['exceptions'] = []
  for (const { member, key } of series.item.members?.exceptions ?? []) {
    const next = moved.get(member)
    if (next === undefined || key === null) continue
    const exception = await requireThere(writing, key)
    exceptions.push({
      member: next,
      patch: ownPatch(writing, series.there, exception, { member, next, times }),
    })
  }
  return { taken: [...taken], exceptions }
}

/** The fields of an exception that differ from those of its series. */
function ownPatch(
  { place }: Writing,
  { item: master, fields: { start, end } }: EventThere,
  { item, fields }: EventThere,
  { member, next, times }: { member: string; next: string; times: EventTimes },
): Record<string, unknown> {
  const own: Array<[string, unknown]> = OWN_FIELDS.filter(
    name => JSON.stringify(item[name]) !== JSON.stringify(master[name]),
  ).map(name => [name, item[name]])
  const usual = timesOfMember({ start, end }, member)
  const isUsual = fields.start.wall === usual.start.wall && fields.end.wall === usual.end.wall
  if (isUsual) return Object.fromEntries(own)
  const shift = {
    from: { wall: member, zone: start.zone },
    to: { wall: next, zone: times.start.zone },
  }
  const move = (wall: string) => shiftWall(wall, shift)
  const moved: EventTimes = {
    start: { wall: move(fields.start.wall), zone: fields.start.zone && times.start.zone },
    end: { wall: move(fields.end.wall), zone: fields.end.zone && times.end.zone },
  }
  return { ...Object.fromEntries(own), ...toTimes(moved, place.mailboxZone) }
}

/** Writes the members of a plan, which may have been written in part, and takes the plan from the series. */
export async function writeMembers(writing: Writing, key: string, plan: MembersPlan): Promise<void> {
  if (isEmpty(plan)) return
  const { effect, place } = writing
  const there = await requireThere(writing, key)
  const path = (member: string) => pathOfEvent(place.calendarKey, member)
  for (const member of plan.taken) {
    const found = await findMember(place, there.event, member)
    if (found)
      await unless('not_found', () =>
        effect.ask({ method: 'DELETE', path: path(found.key), schema: ignoredSchema, accepts: [204] }),
      )
  }
  for (const { member, patch } of plan.exceptions) {
    const found = await findMember(place, there.event, member)
    // An exception that is not allowed where it moves to is none any more.
    if (found)
      await unless('rejected', () =>
        effect.ask({
          method: 'PATCH',
          path: path(found.key),
          json: patch,
          schema: itemSchema,
          accepts: [200],
          answerBytesMax: EVENT_BYTES_MAX,
        }),
      )
  }
  await effect.ask({
    method: 'PATCH',
    path: path(key),
    json: { singleValueExtendedProperties: [planProperty({ taken: [], exceptions: [] })] },
    schema: itemSchema,
    accepts: [200],
    answerBytesMax: EVENT_BYTES_MAX,
  })
}

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
      return await requireThere(work, memberKey)
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
