import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { inTransaction } from '../events/unit-of-work.ts'
import { lockAccount, updateAccount } from '../features/accounts/accounts/store.ts'
import type { OwnedAccount } from './ownership.ts'

/** Stops an account whose grant the provider refuses, and announces that once. Only a new grant helps. */
export async function recordRefusedGrant(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  reason: string,
): Promise<void> {
  await inTransaction(db, owned.tenantId, async unit => {
    const { rows } = await sql<{
      email: string
      provider: 'gmail' | 'graph' | 'imap'
      external_ref: string | null
    }>`
      update account set status = 'reauth_required', status_reason = ${reason}, updated_at = clock_timestamp()
      where id = ${owned.id} and owner_instance = ${owned.instanceId} and owner_epoch = ${owned.epoch}
        and status = 'active' and deleted_at is null
      returning email, provider, external_ref
    `.execute(unit.sql)
    for (const { email, provider, external_ref: externalRef } of rows) {
      unit.announce({
        type: 'account.reauth_required',
        accountId: owned.id,
        data: { email, provider, externalRef, reason },
      })
    }
  })
}

/** Stores why an active account cannot be reached with its settings; null once it can be reached again. */
export async function recordMisconfigured(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  reason: 'server_not_allowed' | null,
): Promise<void> {
  const isNews = (account: { status: string; status_reason: string | null } | undefined) =>
    account?.status === 'active' && account.status_reason !== reason
  // This runs with each connection, and hardly ever changes anything.
  const known = await db
    .selectFrom('account')
    .select(['status', 'status_reason'])
    .where('id', '=', owned.id)
    .executeTakeFirst()
  if (!isNews(known)) return
  await inTransaction(db, owned.tenantId, async unit => {
    const before = await lockAccount(unit, owned.id)
    if (!before || !isNews(before)) return
    const isOwned = before.owner_instance === owned.instanceId && before.owner_epoch === owned.epoch
    if (isOwned) await updateAccount(unit, before, { status_reason: reason })
  })
}
