import { type RawBuilder, sql } from 'kysely'
import { inOneFlight, type Rows } from '../../../database/in-one-flight.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../../calls/refuse.ts'
import { lockingHalf } from '../../../accounts/halves/lock.ts'
import { type OwnAddressRow, ownAddressColumns, ownAddressesOf } from '../identities/store.ts'
import type { MailAccount } from './rules.ts'

type MailAccountRow = OwnAddressRow & { initialized_at: Date | null; look: number; has_missing: boolean }

/**
 * Reads the facts about an account that recording needs, after a statement that locks its mail half. The reading is a
 * statement of its own, so that it sees all that was committed while the first one waited.
 * @param locking has a row if the account is to be recorded
 * @param reading further statements for which the half is locked, and which are sent with it
 */
export async function loadLockedMailAccount<const Reading extends ReadonlyArray<RawBuilder<unknown>>>(
  unit: UnitOfWork,
  accountId: string,
  locking: RawBuilder<unknown>,
  reading: Reading,
): Promise<{ account: MailAccount; rows: Rows<Reading> } | null> {
  const loading = sql<MailAccountRow>`
    select ${ownAddressColumns}, initialized_at, look::float8 as look,
      exists (select from message where account_id = account.id and missing_look is not null)
        or exists (select from mailbox where account_id = account.id and is_deleted) as has_missing
    from account join account_half on account_half.account_id = account.id and kind = 'mail'
    where account.id = ${accountId} and deleted_at is null`
  const [locked, [row], ...rows] = await inOneFlight(unit.sql, [locking, loading, ...reading])
  if (locked.length === 0 || !row) return null
  const account = {
    id: accountId,
    tenantId: unit.tenantId,
    addresses: ownAddressesOf(row),
    isInitialized: row.initialized_at !== null,
    hasMissing: row.has_missing,
    look: row.look,
  }
  return { account, rows: rows as Rows<Reading> }
}

/**
 * Takes the mail of an account for one change by the interface, or by a job. Until the commit neither the sync nor
 * another change records anything of it, so the transaction must be short: call the provider before it. Null if the
 * account was deleted.
 */
export async function findLockedMailAccount(
  unit: UnitOfWork,
  accountId: string,
): Promise<MailAccount | null> {
  const loaded = await loadLockedMailAccount(unit, accountId, lockingHalf(unit, accountId, 'mail'), [])
  return loaded?.account ?? null
}

/** As `findLockedMailAccount`, but refuses an account that was deleted in the meantime. */
export async function lockMailAccount(unit: UnitOfWork, accountId: string): Promise<MailAccount> {
  return (await findLockedMailAccount(unit, accountId)) ?? refuse('account_not_found')
}
