import { z } from 'zod'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { AskedAttendee } from '../../changing-calendars.ts'
import { toEventAddress } from '../../event-people.ts'
import { ProviderFailure } from '../../failure.ts'
import { attendeeSchema } from '../event-schema.ts'
import type { HeldEvent, Json } from './held-event.ts'

/** An attendee as it was answered. */
interface HeldAttendee {
  raw: Json
  read: z.infer<typeof attendeeSchema>
  /** Compared; null if the interface does not show the attendee. */
  address: string | null
}

const rawSchema = z.record(z.string(), z.unknown())

/**
 * The attendees of an event as they were answered. Throws `unsupported` if the answer leaves some out, since a list is
 * replaced as a whole.
 */
export function heldAttendees(held: HeldEvent): HeldAttendee[] {
  if (held.raw['attendeesOmitted'] === true)
    throw new ProviderFailure('unsupported', 'Google Calendar does not show all attendees of the event.')
  return shownAttendees(held)
}

/** The attendees of an event that were answered, of which some may be left out. */
export function shownAttendees({ event }: HeldEvent): HeldAttendee[] {
  return event.attendees.map(each => {
    const read = attendeeSchema.safeParse(each).data ?? {}
    const shown = toEventAddress(read.email ?? '', '')
    return {
      raw: rawSchema.safeParse(each).data ?? {},
      read,
      address: shown && comparedAddress(shown.address),
    }
  })
}

/** Whether an attendee is the account. */
export const isOwn = ({ read, address }: HeldAttendee, own: ReadonlySet<string>): boolean =>
  read.self === true || (address !== null && own.has(address))

/**
 * A list of attendees as it is written. Google replaces the whole list, so attendees who stay are sent back as
 * they were answered: with response, comment and whatever else there is. So are the account itself and attendees that are
 * not shown.
 */
export function attendeesJson(
  before: HeldEvent | null,
  asked: readonly AskedAttendee[],
  own: ReadonlySet<string>,
): readonly Json[] {
  const held = before ? heldAttendees(before) : []
  const kept = held.filter(each => isOwn(each, own) || each.address === null)
  const byAddress = new Map(held.map(each => [each.address, each]))
  const listed = asked.map(attendee => {
    const found = byAddress.get(comparedAddress(attendee.address))
    return found ? { ...found.raw, ...changesOf(found, attendee) } : newAttendee(attendee)
  })
  return [...kept.map(({ raw }) => raw), ...listed]
}

function newAttendee({ name, address, type }: AskedAttendee): Json {
  return {
    email: address,
    ...(name !== null && { displayName: name }),
    ...(type === 'optional' && { optional: true }),
    ...(type === 'resource' && { resource: true }),
  }
}

function changesOf({ read }: HeldAttendee, { name, type }: AskedAttendee): Json {
  return {
    ...(name !== null && name !== read.displayName && { displayName: name }),
    // A room stays one: Google takes that only of new attendees.
    ...(!read.resource &&
      Boolean(read.optional) !== (type === 'optional') && { optional: type === 'optional' }),
  }
}
