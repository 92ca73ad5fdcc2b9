import { ProviderFailure } from '../../failure.ts'
import type { CalendarApi } from '../calendar-api.ts'
import { type CalendarEntry, readEntry } from '../calendar-entry.ts'
import { findEvent } from '../following.ts'
import { EventReader, type ReadEvents } from '../reading.ts'

/** A calendar in which something is written. */
export interface WrittenCalendar {
  api: CalendarApi
  key: string
  entry: CalendarEntry
}

/**
 * Asks for a calendar before anything is written to it. Google answers alike for a missing event and a missing calendar.
 * Throws `not_found` if it is gone, and `forbidden` if the account may only read it.
 */
export async function openCalendar(api: CalendarApi, key: string): Promise<WrittenCalendar> {
  const entry = readEntry(await api.getEntry(key))
  if (!entry) throw new ProviderFailure('not_found', 'Google Calendar does not show the calendar any more.')
  const { access } = entry.calendar
  if (access === 'owner' || access === 'writer') return { api, key, entry }
  throw new ProviderFailure('forbidden', 'The account may only read the calendar.')
}

/** The values on which the fields of events of a calendar depend. */
export function aroundOf({ entry: { calendar, defaultReminders } }: WrittenCalendar) {
  const { access, timeZone } = calendar
  return { access, timeZone, defaultReminders }
}

/** Reads answered events as the follower of the calendar would. Of deleted singles and series nothing comes. */
export async function readObjects(
  calendar: WrittenCalendar,
  answered: readonly unknown[],
): Promise<ReadEvents> {
  const reader = new EventReader(key => findEvent(calendar.api, calendar.key, key))
  return reader.read(answered, aroundOf(calendar))
}
