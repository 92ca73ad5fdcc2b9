import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../refuse.ts'
import { type OwnAddressRow, ownAddressColumns, ownAddressesOf } from '../identities/store.ts'
import type { MailAccount } from './rules.ts'

/**
 * What recording needs to know of an account. Call it in a statement after the one that took a lock on the account's row:
 * so it sees what was committed while that one waited.
 */
export async function loadMailAccount(unit: UnitOfWork, accountId: string): Promise<MailAccount> {
  const { rows } = await sql<
    OwnAddressRow & { initialized_at: Date | null; look: number; has_missing: boolean }
  >`
    select ${ownAddressColumns}, initialized_at, look::float8 as look,
      exists (select from message where account_id = account.id and missing_look is not null)
        or exists (select from mailbox where account_id = account.id and is_deleted) as has_missing
    from account where id = ${accountId}
  `.execute(unit.sql)
  const row = rows[0]!
  return {
    id: accountId,
    tenantId: unit.tenantId,
    addresses: ownAddressesOf(row),
    isInitialized: row.initialized_at !== null,
    hasMissing: row.has_missing,
    look: row.look,
  }
}

/**
 * Takes the account for one change of its mail by the interface, or by a job. Until the commit neither the sync nor another
 * change records anything of it, so the transaction must be short: ask the provider before it. Null if the account was
 * deleted.
 */
export async function findLockedMailAccount(
  unit: UnitOfWork,
  accountId: string,
): Promise<MailAccount | null> {
  const { rows } = await sql`
    select from account where id = ${accountId} and tenant_id = ${unit.tenantId} and deleted_at is null
    for no key update
  `.execute(unit.sql)
  return rows.length === 0 ? null : loadMailAccount(unit, accountId)
}

/** As `findLockedMailAccount`, but refuses an account that was deleted in the meantime. */
export async function lockMailAccount(unit: UnitOfWork, accountId: string): Promise<MailAccount> {
  return (await findLockedMailAccount(unit, accountId)) ?? refuse('account_not_found')
}
