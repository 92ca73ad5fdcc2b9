import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import type { Caller } from '../caller.ts'
import { readFeed } from '../sync/followed-account.ts'

/** A change of a calendar or of an event, as the feed announces it. */
export interface Announced {
  type: string
  event?: CalendarEvent
  calendar?: Calendar
  changes?: string[]
}

/** The changes of the calendars of an account in the feed, from its beginning or from a cursor on. */
export async function calendarFeedOf(
  caller: Caller,
  accountId: string,
  cursor?: string,
): Promise<Announced[]> {
  const { events } = await readFeed(caller, cursor)
  return events
    .filter(event => event.accountId === accountId && event.type.startsWith('calendar'))
    .map(({ type, data }) => ({ type, ...data }))
}

/** A change in one line: its type, kind, subject or name, and the fields that changed. */
export const inShort = ({ type, event, calendar, changes }: Announced): string =>
  [type, event?.kind, event?.subject, calendar?.name, changes?.toSorted().join(' ')].filter(Boolean).join(' ')
