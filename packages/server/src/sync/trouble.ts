import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { type UnitOfWork, inTransaction } from '../events/unit-of-work.ts'
import { recordReauthRequired } from '../features/accounts/accounts/record-reauth.ts'
import { reachedAs } from '../features/accounts/accounts/rules.ts'
import { lockAccount, updateAccount } from '../features/accounts/accounts/store.ts'
import type { FailureReason, ProviderFailure } from '../providers/failure.ts'
import type { OwnedAccount } from './ownership.ts'

/** An account whose provider says for this time that the mailbox is gone or closed is disabled. */
const CLOSED_HOURS = 24

/** Why an account needs a new grant. `scope_missing`: the one that it has does not allow its mail to be read. */
export type GrantRefusal = 'invalid_grant' | 'login_failed' | 'scope_missing'

/**
 * Stops an account whose grant or password the provider refuses, and announces that once. `version` is that of the account
 * when it was refused: what was stored later is not blamed.
 */
export async function recordRefusedGrant(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  refused: { reason: GrantRefusal; version: string },
): Promise<void> {
  await inTransaction(db, owned.tenantId, async unit => {
    const account = await lockOwned(unit, owned)
    if (account && reachedAs(account).version === refused.version)
      await recordReauthRequired(unit, account, refused.reason)
  })
}

/** Whether the account is still to be followed. */
export async function isToBeFollowed(db: Kysely<Tables>, owned: OwnedAccount): Promise<boolean> {
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('id', '=', owned.id)
    .where('status', '=', 'active')
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** What of the setup keeps an account from being reached; null if the failure says nothing about that. */
export function misconfigurationOf({ kind, reason }: ProviderFailure): FailureReason | null {
  if (kind === 'not_allowed') return 'server_not_allowed'
  return kind === 'misconfigured' ? reason : null
}

/** Stores why an active account cannot be reached with its settings; null once it can be reached again. */
export async function recordMisconfigured(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  reason: FailureReason | null,
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
    const before = await lockOwned(unit, owned)
    if (before && isNews(before)) await updateAccount(unit, before, { status_reason: reason })
  })
}

/**
 * Records that the provider says that the mailbox is gone or closed. An account of which it has said nothing else for 24
 * hours is disabled.
 */
export async function recordClosed(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  reason: FailureReason | null,
): Promise<void> {
  await inTransaction(db, owned.tenantId, async unit => {
    const before = await lockOwned(unit, owned)
    if (before?.status !== 'active') return
    const { rows } = await sql<{ is_over: boolean }>`
      update account set closed_since = coalesce(closed_since, clock_timestamp()) where id = ${owned.id}
      returning closed_since < clock_timestamp() - make_interval(hours => ${CLOSED_HOURS}) as is_over
    `.execute(unit.sql)
    if (!rows[0]?.is_over) return
    await updateAccount(unit, before, { status: 'disabled', status_reason: reason ?? 'provider_not_found' })
  })
}

/** Null if the account is no longer ours. */
async function lockOwned(unit: UnitOfWork, owned: OwnedAccount) {
  const account = await lockAccount(unit, owned.id)
  const isOurs = account?.owner_instance === owned.instanceId && account.owner_epoch === owned.epoch
  return isOurs ? account : null
}
