import type { RawBuilder } from 'kysely'
import { holdingOwned } from '../../../accounts/halves/lock.ts'
import { FenceLost, type OwnedAccount } from '../../../accounts/halves/ownership.ts'
import type { Rows } from '../../../database/in-one-flight.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import type { ContactsProvider } from '../../../providers/contacts.ts'
import type { Doubts } from '../../../sync/doubts.ts'
import { loadLockedContacts } from '../contacts/record-account.ts'
import type { ContactAccount } from '../contacts/rules.ts'

/** The contacts of an account that are followed over one connection. */
export interface Session {
  db: Db
  owned: OwnedAccount
  provider: ContactsProvider
  /** Whether the first sync is complete: before it, nothing is announced. */
  isInitialized: boolean
  signal: AbortSignal
  /** Called with every step that makes progress; a session that makes none is ended. */
  progressed(): void
  /** Allows a wait of this length, up to the next progress. */
  allow(seconds: number): void
  doubts: Doubts
}

/**
 * A transaction that commits only while the contacts of the account are owned, and keeps them so until the commit.
 * @param reading statements that are sent with the check, and read under its lock
 * @throws FenceLost
 */
export function underFence<T, const Reading extends ReadonlyArray<RawBuilder<unknown>>>(
  { db, owned }: Pick<Session, 'db' | 'owned'>,
  reading: Reading,
  work: (unit: UnitOfWork, account: ContactAccount, rows: Rows<Reading>) => Promise<T>,
): Promise<T> {
  return inTransaction(db, owned.tenantId, async unit => {
    const loaded = await loadLockedContacts(unit, owned.id, holdingOwned(owned, 'contacts'), reading)
    if (!loaded) throw new FenceLost(owned.id)
    return work(unit, loaded.account, loaded.rows)
  })
}
