import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { callerOf } from '../caller.ts'
import { readAllEvents } from '../calendars/folded-feed.ts'
import { readFeed } from '../sync/followed-account.ts'
import type { IndexState } from '../sync/fold-feed.ts'
import { waitUntil } from '../wait-until.ts'
import type { Bed } from './bed.ts'
import type { ComparedAccount } from './clients/client-run.ts'
import { inBatchesOf } from './in-batches.ts'
import { readContactsOf, readIndex } from './settle.ts'

const AT_ONCE = 6

/** The index of all accounts at a moment without an event. */
export interface Snapshot {
  states: Map<string, IndexState>
  /** The contacts of accounts that have an address book. */
  contacts: Map<string, Map<string, Contact>>
  /** The events of accounts that have calendars. */
  calendars: Map<string, Map<string, CalendarEvent>>
  /** The last event of the feed at that moment. */
  eventId: string
  /** The feed after that event. */
  cursor: string
}

export function takeSnapshot(bed: Bed, accounts: readonly ComparedAccount[]): Promise<Snapshot> {
  const caller = callerOf(bed.addresses()[0] ?? '', bed.key)
  return waitUntil('a moment without an event', async () => {
    const { events, cursor } = await readFeed(caller)
    const states = await inBatchesOf(
      AT_ONCE,
      accounts,
      async ({ id }) => [id, await readIndex(bed, id)] as const,
    )
    const withBooks = accounts.filter(({ book }) => book !== null)
    const contacts = await inBatchesOf(
      AT_ONCE,
      withBooks,
      async ({ id }) => [id, await readContactsOf(bed, id)] as const,
    )
    const calendars = await inBatchesOf(
      AT_ONCE,
      accounts.filter(account => account.calendars !== null),
      async ({ id }) => [id, await readAllEvents(caller, id)] as const,
    )
    if ((await readFeed(caller, cursor)).events.length > 0) return null
    return {
      states: new Map(states),
      contacts: new Map(contacts),
      calendars: new Map(calendars),
      eventId: events.at(-1)?.id ?? '0',
      cursor,
    }
  })
}
