import type { Announcement } from './announcement.ts'
import type { Transaction } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Tables } from '../database/tables.ts'
import { appendEvents } from './append.ts'
import { publishNews } from './news.ts'

/** A transaction of one tenant, and the events that it announces. */
export interface UnitOfWork {
  sql: Transaction<Tables>
  tenantId: string
  announce(...announcements: Announcement[]): void
  /**
   * Leaves an item to be written directly before the commit: all that the transaction leaves to the same `write` are
   * written by one call.
   */
  leave<Item>(write: WriteAll<Item>, item: Item): void
}

/** Writes items of one transaction. */
export type WriteAll<Item> = (tx: Transaction<Tables>, items: readonly Item[]) => Promise<void>

/** Runs `work` in a transaction, and returns what it returned once that is committed. */
export type Transact = <T>(db: Db, tenantId: string, work: (unit: UnitOfWork) => Promise<T>) => Promise<T>

/**
 * Runs `work` in one transaction and appends the announced events with the last statements before the commit, so that
 * the tenant's event lock is held only during the commit. Once they are committed, all who listen are told (see
 * `news.ts`). Never touches two tenants (they could deadlock).
 */
export async function inTransaction<T>(
  db: Db,
  tenantId: string,
  work: (unit: UnitOfWork) => Promise<T>,
): Promise<T> {
  const announcements: Announcement[] = []
  const left = new Map<WriteAll<never>, unknown[]>()
  const result = await db.transaction().execute(async transaction => {
    const worked = await work({
      sql: transaction,
      tenantId,
      announce: (...more) => void announcements.push(...more),
      leave(write, item) {
        const items = left.get(write)
        if (items) items.push(item)
        else left.set(write, [item])
      },
    })
    // Each has the items that were left to it.
    for (const [write, items] of left) await write(transaction, items as never[])
    await appendEvents(transaction, tenantId, announcements)
    return worked
  })
  if (announcements.length > 0) publishNews(db, tenantId, new Set(announcements.map(({ type }) => type)))
  return result
}
