import { type RawBuilder, sql } from 'kysely'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import type { AccountView } from '../row.ts'
import { findAccountView } from '../store.ts'
import type { HalfKind } from './kind.ts'
import { isOwned, type OwnedAccount } from './ownership.ts'

// Rows are locked in the order tenant, account, halves (mail first). A row that refers to its account holds the key of the
// account from its insertion on, so whoever holds a half takes the key first: a deletion locks the whole account, and then
// its halves.

/**
 * Holds a half that is still owned until the commit, for a step of its follower: what would pause, delete, release or
 * claim the account waits for the step. Finds a row if it is owned.
 */
export function holdingOwned(owned: OwnedAccount, kind: HalfKind): RawBuilder<unknown> {
  return sql`
    select from account join account_half on account_half.account_id = account.id
    where account.id = ${owned.id} and ${isOwned(owned, kind)}
    for key share of account for share of account_half`
}

/**
 * Takes a half for one change by the interface, or by a job. Until the commit no step of its follower and no other change
 * records anything of it. Finds a row if the tenant has the account; whether it was deleted shows in the next statement.
 */
export function lockingHalf(unit: UnitOfWork, accountId: string, kind: HalfKind): RawBuilder<unknown> {
  return sql`
    select from account join account_half on account_half.account_id = account.id
    where account.id = ${accountId} and account.tenant_id = ${unit.tenantId} and account_half.kind = ${kind}
    for key share of account for no key update of account_half`
}

/** Takes a half as `lockingHalf` does, and reads its account. Null if that was deleted. */
export async function lockHalf(
  unit: UnitOfWork,
  accountId: string,
  kind: HalfKind,
): Promise<AccountView | null> {
  await lockingHalf(unit, accountId, kind).execute(unit.sql)
  return findAccountView(unit.sql, unit.tenantId, accountId)
}
