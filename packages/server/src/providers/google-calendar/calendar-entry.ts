import { z } from 'zod'
import { findNamedZone } from '../../kit/zones/named-zone.ts'
import type { RemoteCalendar } from '../calendars.ts'
import { toName, toNotes } from '../contact-text.ts'
import { toEventAddress } from '../event-people.ts'
import { ProviderFailure } from '../failure.ts'

const text = z.string().nullish().catch(null)
const flag = z.boolean().nullish().catch(null)

/** A calendar in a user's list (developers.google.com/workspace/calendar/api/v3/reference/calendarList). */
const schema = z.object({
  id: z.string().min(1),
  summary: text,
  description: text,
  timeZone: text,
  backgroundColor: text,
  accessRole: text,
  dataOwner: text,
  primary: flag,
  hidden: flag,
  deleted: flag,
  defaultReminders: z.array(z.unknown()).catch([]),
  conferenceProperties: z
    .object({ allowedConferenceSolutionTypes: z.array(z.unknown()) })
    .nullish()
    .catch(null),
  location: text,
  summaryOverride: text,
})

/** A calendar, and what its events leave to it. */
export interface CalendarEntry {
  calendar: RemoteCalendar
  /** Reminders of events that have none of their own, as the list has them. */
  defaultReminders: readonly unknown[]
  /** Whether its events can have meetings of Google Meet. */
  allowsMeet: boolean
  /** The name that the user gave the calendar in their list alone. */
  ownName: string | null
  location: string | null
}

const ACCESS: ReadonlyMap<string, RemoteCalendar['access']> = new Map([
  ['owner', 'owner'],
  ['writer', 'writer'],
  ['reader', 'reader'],
  ['freeBusyReader', 'freebusy'],
])
const NO_ACCESS = 'none'
/** The solution of Google Meet among those of conferences. */
export const MEET = 'hangoutsMeet'
/** Domains of the ids of calendars that are no users. */
const NO_USERS = /(?:^|\.)calendar\.google\.com$/i

/**
 * Reads an answered calendar. Null if the user may not see its events.
 * @throws ProviderFailure for a calendar without an id, which would be missing from the list unnoticed
 */
export function readEntry(answered: unknown): CalendarEntry | null {
  const { data } = schema.safeParse(answered)
  if (!data) throw new ProviderFailure('unavailable', 'Google Calendar lists a calendar without an id.')
  if (data.deleted || data.accessRole === NO_ACCESS) return null
  const { id, summary, summaryOverride, description, accessRole, primary, hidden, defaultReminders } = data
  const calendar: RemoteCalendar = {
    key: id,
    name: toName(summaryOverride ?? '') ?? toName(summary ?? '') ?? id,
    description: toNotes(description ?? ''),
    owner: ownerOf(data),
    isPrimary: primary === true,
    // A role that is not known allows at least to read.
    access: ACCESS.get(accessRole ?? '') ?? 'reader',
    color: /^#[0-9a-f]{6}$/i.test(data.backgroundColor ?? '') ? data.backgroundColor!.toLowerCase() : null,
    timeZone: findNamedZone(data.timeZone ?? ''),
    isHidden: hidden === true,
  }
  const solutions = data.conferenceProperties?.allowedConferenceSolutionTypes ?? []
  return {
    calendar,
    defaultReminders,
    allowsMeet: solutions.includes(MEET),
    ownName: summaryOverride || null,
    location: data.location ?? null,
  }
}

/** Only secondary calendars name their owner. A primary one has the address of its user as its id. */
function ownerOf({ id, dataOwner }: z.infer<typeof schema>): RemoteCalendar['owner'] {
  if (dataOwner) return toEventAddress(dataOwner, '')
  const domain = id.slice(id.lastIndexOf('@') + 1)
  return NO_USERS.test(domain) ? null : toEventAddress(id, '')
}
