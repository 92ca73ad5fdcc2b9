import type { EventData, EventType } from '@waxwing/contract/events.ts'

/** A change to announce. `accountId` is null for events about no particular account. */
export type Announcement = {
  [T in EventType]: { type: T; accountId: string | null; data: EventData<T> }
}[EventType]
