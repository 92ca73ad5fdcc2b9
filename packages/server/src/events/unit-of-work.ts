import type { Transaction } from 'kysely'
import type { EventData, EventType } from '@waxwing/contract/events.ts'
import type { Db } from '../database/pool.ts'
import type { Tables } from '../database/tables.ts'
import { appendEvents } from './append.ts'

/** A change to announce. `accountId` is null for events about no particular account. */
export type Announcement = {
  [T in EventType]: { type: T; accountId: string | null; data: EventData<T> }
}[EventType]

/** A transaction of one tenant, and the events that it announces. */
export interface UnitOfWork {
  sql: Transaction<Tables>
  tenantId: string
  announce(...announcements: Announcement[]): void
}

/**
 * Runs `work` in one transaction and appends the announced events with the last statements before the commit, so that
 * the tenant's event lock is held only during the commit. Never touches two tenants (they could deadlock).
 */
export async function inTransaction<T>(
  db: Db,
  tenantId: string,
  work: (unit: UnitOfWork) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async transaction => {
    const announcements: Announcement[] = []
    const result = await work({
      sql: transaction,
      tenantId,
      announce: (...more) => void announcements.push(...more),
    })
    await appendEvents(transaction, tenantId, announcements)
    return result
  })
}
