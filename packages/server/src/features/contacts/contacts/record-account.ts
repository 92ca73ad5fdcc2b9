import { type RawBuilder, sql } from 'kysely'
import { lockingHalf } from '../../../accounts/halves/lock.ts'
import { refuse } from '../../../calls/refuse.ts'
import { inOneFlight, type Rows } from '../../../database/in-one-flight.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { ContactAccount } from './rules.ts'

/**
 * Reads the facts about an account that recording its contacts needs, after a statement that locks their half. The reading
 * is a statement of its own, so that it sees all that was committed while the first one waited.
 * @param locking has a row if the account is to be recorded
 * @param reading further statements for which the half is locked, and which are sent with it
 */
export async function loadLockedContacts<const Reading extends ReadonlyArray<RawBuilder<unknown>>>(
  unit: UnitOfWork,
  accountId: string,
  locking: RawBuilder<unknown>,
  reading: Reading,
): Promise<{ account: ContactAccount; rows: Rows<Reading> } | null> {
  const loading = sql<{ is_initialized: boolean }>`
    select account_half.initialized_at is not null as is_initialized
    from account join account_half on account_half.account_id = account.id and kind = 'contacts'
    where account.id = ${accountId} and deleted_at is null`
  const [locked, [row], ...rows] = await inOneFlight(unit.sql, [locking, loading, ...reading])
  if (locked.length === 0 || !row) return null
  const account = { id: accountId, tenantId: unit.tenantId, isInitialized: row.is_initialized }
  return { account, rows: rows as Rows<Reading> }
}

/**
 * Takes the contacts of an account for one change by the interface. Until the commit neither the sync nor another change
 * records anything of them, so the transaction must be short: call the provider before it. Refuses an account that was
 * deleted in the meantime.
 */
export async function lockContacts(unit: UnitOfWork, accountId: string): Promise<ContactAccount> {
  const loaded = await loadLockedContacts(unit, accountId, lockingHalf(unit, accountId, 'contacts'), [])
  return loaded?.account ?? refuse('account_not_found')
}
