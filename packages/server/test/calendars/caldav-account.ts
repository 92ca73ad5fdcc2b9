import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { DAY_MS } from '../../src/kit/wall-clock.ts'
import type { Caller } from '../caller.ts'
import { waitUntil } from '../wait-until.ts'

/** The day that lies so many days after today, as `YYYYMMDD`. */
export function dayAhead(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')
}

export function waitForCalendars(caller: Caller, accountId: string): Promise<Account> {
  return waitUntil('the first sync of calendars', async () => {
    const { body } = await caller.get<Account>(`/v1/accounts/${accountId}`)
    return body.calendarInitializedAt === null ? null : body
  })
}

/** Lists the events that take place from yesterday on, in the order of their starts. */
export async function readTakingPlace(caller: Caller, accountId: string): Promise<CalendarEvent[]> {
  const start = new Date(Date.now() - DAY_MS).toISOString()
  const end = new Date(Date.now() + 300 * DAY_MS).toISOString()
  const path = `/v1/accounts/${accountId}/calendar-events?start=${start}&end=${end}&limit=500`
  const { body } = await caller.get<{ items: CalendarEvent[] }>(path)
  return body.items
}

/** Waits until what takes place has these subjects, in the order of its starts. */
export function waitForSubjects(
  caller: Caller,
  accountId: string,
  subjects: ReadonlyArray<string | null>,
): Promise<CalendarEvent[]> {
  return waitUntil(`the events ${subjects.join(', ')}`, async () => {
    const events = await readTakingPlace(caller, accountId)
    return events.map(({ subject }) => subject).join('\n') === subjects.join('\n') ? events : null
  })
}
