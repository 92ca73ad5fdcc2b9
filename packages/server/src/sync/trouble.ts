import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { type UnitOfWork, inTransaction } from '../events/unit-of-work.ts'
import { recordReauthRequired } from '../accounts/record-reauth.ts'
import { stampOf } from '../accounts/reach.ts'
import { lockAccount, updateAccount } from '../accounts/store.ts'
import type { HalfKind } from '../accounts/halves/kind.ts'
import type { OwnedAccount } from '../accounts/halves/ownership.ts'
import { findProblem, type HalfProblem, recordClosedSince } from '../accounts/halves/trouble.ts'
import type { FailureReason, ProviderFailure } from '../providers/failure.ts'

/** An account whose provider says for this time that the mailbox is gone or closed is disabled. */
const CLOSED_HOURS = 24

/** The problem of a half with a server and a login of its own. */
const DAV_LOGIN_FAILED = 'dav_login_failed'

/** Why an account needs a new grant. `scope_missing`: the one that it has does not allow its mail to be read. */
export type GrantRefusal = 'invalid_grant' | 'login_failed' | 'scope_missing'

/**
 * Stops an account whose grant or password the provider refuses, and announces that once. `version` is the stamp of
 * the half when it was refused: what was stored later is not blamed. A refused login, or a missing scope, of another half than
 * mail is a problem of that half alone.
 */
export async function recordRefusedGrant(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  kind: HalfKind,
  refused: { reason: GrantRefusal; version: string },
): Promise<void> {
  if (kind !== 'mail' && refused.reason !== 'invalid_grant') {
    const problem = refused.reason === 'login_failed' ? DAV_LOGIN_FAILED : refused.reason
    return recordProblem(db, owned, { kind, problem }, refused.version)
  }
  await inTransaction(db, owned.tenantId, async unit => {
    const account = await lockOwned(unit, owned)
    if (account && stampOf(account, kind) === refused.version)
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

/**
 * What keeps a half from being reached, until somebody changes it; null if the failure says nothing about that. A refused
 * collection, or one that is gone, is no trouble of mail, which has a status for that.
 */
export function problemOf({ kind, reason }: ProviderFailure, half: HalfKind): FailureReason | null {
  if (kind === 'not_allowed') return 'server_not_allowed'
  if (kind === 'misconfigured') return reason
  if (half === 'mail') return null
  if (kind === 'forbidden') return 'provider_forbidden'
  return kind === 'not_found' ? 'provider_not_found' : null
}

/**
 * Stores why a half of an active account cannot be reached with its settings; null once it can be reached again.
 * @param version the stamp of the half when that was found; null if it does not matter
 */
export async function recordProblem(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  { kind, problem }: HalfProblem,
  version: string | null = null,
): Promise<void> {
  // This runs with each connection, and hardly ever changes anything.
  const known = await findProblem(db, owned.id, kind)
  if (known === undefined || known === problem) return
  await inTransaction(db, owned.tenantId, async unit => {
    const before = await lockOwned(unit, owned)
    if (before?.status !== 'active') return
    if (version !== null && stampOf(before, kind) !== version) return
    const isNews = (await findProblem(unit.sql, owned.id, kind)) !== problem
    if (isNews) await updateAccount(unit, before, {}, { problem: { kind, problem } })
  })
}

/**
 * Records that the provider says that the mailbox is gone or closed. An account of whose mail it has said nothing else
 * for 24 hours is disabled. Of another half it is a problem.
 */
export async function recordClosed(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  kind: HalfKind,
  reason: FailureReason | null,
): Promise<void> {
  const problem = reason ?? 'provider_not_found'
  if (kind !== 'mail') return recordProblem(db, owned, { kind, problem })
  await inTransaction(db, owned.tenantId, async unit => {
    const before = await lockOwned(unit, owned)
    if (before?.status !== 'active') return
    if ((await recordClosedSince(unit, owned.id, kind)) <= CLOSED_HOURS) return
    await updateAccount(unit, before, { status: 'disabled', status_reason: problem })
  })
}

/** Null if the account is no longer ours. */
async function lockOwned(unit: UnitOfWork, owned: OwnedAccount) {
  const account = await lockAccount(unit, owned.id)
  const isOurs = account?.owner_instance === owned.instanceId && account.owner_epoch === owned.epoch
  return isOurs ? account : null
}
