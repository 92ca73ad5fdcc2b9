import { z } from 'zod'
import { comparedAddress } from '../../../../kit/compared-address.ts'
import type { RemoteItem } from '../../../calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import type { EventTimes } from '../../../new-times.ts'
import type { GraphEvent } from '../event.ts'
import { requireSameFiles } from './attachments.ts'
import { withoutMeeting } from './bodies.ts'
import { movedException } from './member-times.ts'
import { type EventThere, MEMBERS_PROPERTY, requireThere, type Writing } from './there.ts'
import { toTimes } from './times.ts'

/*
 * A change of the recurrence or of the times of a series ends its exceptions, and the members that were deleted come back.
 * So they are written again. Until that is done, the series has a list of them in a property of its own, by which a later
 * try goes on where another one stopped.
 */

/** Characters of the list. A series with a longer one is not written, since a try that stops would lose its exceptions. */
const STORED_MAX = 30_000

/** Fields of an exception that may differ from those of its series. */
const OWN_FIELDS = [
  'subject',
  'showAs',
  'sensitivity',
  'importance',
  'categories',
  'isReminderOn',
  'reminderMinutesBeforeStart',
] as const

const planSchema = z.object({
  taken: z.array(z.string()),
  exceptions: z.array(
    z.object({
      member: z.string(),
      patch: z.record(z.string(), z.unknown()),
      /** When the exception was changed before the series was written, in milliseconds by the clock of Exchange. */
      changedAt: z.number().nullable().default(null),
    }),
  ),
})

/** Members of a series that are to be written: deleted ones, and exceptions with the fields that are their own. */
export type MembersPlan = z.infer<typeof planSchema>

export const NO_MEMBERS: MembersPlan = { taken: [], exceptions: [] }

export const isEmpty = ({ taken, exceptions }: MembersPlan): boolean =>
  taken.length === 0 && exceptions.length === 0

/** The property in which a series has its plan. Throws `unsupported` for a plan that is too long. */
export function planProperty(plan: MembersPlan): { id: string; value: string } {
  if (isEmpty(plan)) return { id: MEMBERS_PROPERTY, value: '' }
  const value = JSON.stringify(plan)
  if (value.length <= STORED_MAX) return { id: MEMBERS_PROPERTY, value }
  throw new ProviderFailure(
    'unsupported',
    'The occurrences that differ from their series hold more text than Waxwing can write again at Exchange.',
  )
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
 * Plans the members of a series that gets another recurrence or other times. Throws `unsupported` if an exception cannot be
 * written again as a whole.
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
  const { start, end } = series.there.fields
  for (const { member, key } of series.item.members?.exceptions ?? []) {
    const next = moved.get(member)
    if (next === undefined || key === null) continue
    const exception = await requireThere(writing, key)
    await requireSameFiles(writing, series.there, exception)
    const before = { times: { start, end }, member }
    const own = movedException(exception.fields, before, { times, member: next })
    const patch = {
      ...ownFields(series.there, exception),
      ...(own && toTimes(own, writing.place.mailboxZone)),
    }
    exceptions.push({ member: next, patch, changedAt: exception.fields.updatedAt?.getTime() ?? null })
  }
  return { taken: [...taken], exceptions }
}

/** The fields of an exception, but for its times, that differ from those of its series. */
function ownFields(series: EventThere, exception: EventThere): Record<string, unknown> {
  const [master, item] = [series.item, exception.item]
  const isOther = (name: string) => JSON.stringify(item[name]) !== JSON.stringify(master[name])
  const { locations } = item
  const hasPlaces = Array.isArray(locations) && locations.length > 1
  const isElsewhere = isOther('location') || isOther('locations')
  return {
    ...Object.fromEntries(OWN_FIELDS.filter(isOther).map(name => [name, item[name]])),
    ...(isOther('body') && { body: bodyOf(series, exception) }),
    // A location takes the place of all others.
    ...(isElsewhere && (hasPlaces ? { locations } : { location: item['location'] })),
    ...(invitedTo(exception.event) !== invitedTo(series.event) && { attendees: item['attendees'] ?? [] }),
  }
}

/** A body without the block of a meeting, which the series may have in another form once the exception is written. */
function bodyOf({ event: series }: EventThere, { item, event, fields: { body } }: EventThere): unknown {
  const links = [event, series].flatMap(({ onlineMeeting }) => onlineMeeting?.joinUrl ?? [])
  return body ? links.reduce<typeof body>((text, link) => withoutMeeting(text, link), body) : item['body']
}

const invitedTo = ({ attendees }: GraphEvent): string =>
  (attendees ?? [])
    .map(({ emailAddress, type }) => `${comparedAddress(emailAddress?.address ?? '')} ${type}`)
    .toSorted()
    .join()
