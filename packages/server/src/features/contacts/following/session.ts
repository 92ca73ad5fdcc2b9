import type { RawBuilder } from 'kysely'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'
import { type Fence, underFenceOf } from '../../../accounts/halves/under-fence.ts'
import type { Rows } from '../../../database/in-one-flight.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { ContactsProvider } from '../../../providers/contacts.ts'
import type { LookSession } from '../../../sync/looks/session.ts'
import { loadLockedContacts } from '../contacts/record-account.ts'
import type { ContactAccount } from '../contacts/rules.ts'

/** The contacts of an account that are followed over one connection. */
export type Session = LookSession<ContactsProvider>

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
  return underFenceOf(fenceOf(db, owned, reading), (unit, { account, rows }) => work(unit, account, rows))
}

/** @param reading as for `underFence` */
export function fenceOf<const Reading extends ReadonlyArray<RawBuilder<unknown>>>(
  db: Db,
  owned: OwnedAccount,
  reading: Reading,
): Fence<{ account: ContactAccount; rows: Rows<Reading> }> {
  const load = (unit: UnitOfWork, locking: RawBuilder<unknown>) =>
    loadLockedContacts(unit, owned.id, locking, reading)
  return { db, owned, kind: 'contacts', load }
}
