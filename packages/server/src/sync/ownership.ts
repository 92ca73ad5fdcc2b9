import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import type { MailAccount } from '../features/messages/rules.ts'

/** An account as its owner holds it. The epoch is the fencing token of this ownership. */
export interface OwnedAccount {
  id: string
  tenantId: string
  email: string
  instanceId: string
  epoch: string
}

/** The account is no longer ours to write: another instance owns it, or it was paused or deleted. */
export class FenceLost extends Error {
  constructor(accountId: string) {
    super(`account ${accountId} is no longer owned by this instance`)
    this.name = 'FenceLost'
  }
}

/**
 * Checks within the transaction that the account is still owned, and holds the answer true until the commit: whoever
 * would take the account over waits for this transaction. A process that slept through its lease cannot commit.
 * @throws FenceLost
 */
export async function fenceAccount(unit: UnitOfWork, owned: OwnedAccount): Promise<MailAccount> {
  const { rows } = await sql<{ initialized_at: Date | null; has_missing: boolean }>`
    select initialized_at,
      exists (select from message where account_id = ${owned.id} and missing_since is not null) as has_missing
    from account
    where id = ${owned.id} and owner_instance = ${owned.instanceId} and owner_epoch = ${owned.epoch}
      and status = 'active' and deleted_at is null
    for share
  `.execute(unit.sql)
  const row = rows[0]
  if (!row) throw new FenceLost(owned.id)
  return {
    id: owned.id,
    tenantId: owned.tenantId,
    addresses: new Set([owned.email.toLowerCase()]),
    isInitialized: row.initialized_at !== null,
    hasMissing: row.has_missing,
  }
}

const isLive = sql<boolean>`exists (
  select from instance where instance.id = account.owner_instance and heartbeat_until > clock_timestamp()
)`

/** Takes up to `limit` active accounts that no living instance owns. */
export async function claimAccounts(
  db: Kysely<Tables>,
  instanceId: string,
  limit: number,
): Promise<OwnedAccount[]> {
  const { rows } = await sql<{ id: string; tenant_id: string; email: string; owner_epoch: string }>`
    update account set owner_instance = ${instanceId}, owner_epoch = owner_epoch + 1, sync_wanted = '{}',
      runtime_state = 'pending', runtime_detail = null, runtime_instance = ${instanceId},
      runtime_updated_at = clock_timestamp()
    where id in (
      select account.id from account join tenant on tenant.id = account.tenant_id
      where status = 'active' and deleted_at is null and tenant.suspended_at is null
        and (owner_instance is null or not ${isLive})
      order by account.id limit ${limit} for update of account skip locked
    )
    returning id, tenant_id, email, owner_epoch
  `.execute(db)
  return rows.map(row => ({
    id: row.id,
    tenantId: row.tenant_id,
    email: row.email,
    instanceId,
    epoch: row.owner_epoch,
  }))
}

/** What an owned account's owner should look at. */
export interface Attention {
  accountId: string
  epoch: string
  /** No longer to be synced: paused, deleted, taken over, or its tenant is suspended. */
  mustStop: boolean
  /** Settings or servers changed. */
  mustRestart: boolean
}

export async function findAttention(db: Kysely<Tables>, instanceId: string): Promise<Attention[]> {
  const { rows } = await sql<{ id: string; owner_epoch: string; must_stop: boolean; sync_wanted: string[] }>`
    select account.id, owner_epoch, sync_wanted,
      status <> 'active' or deleted_at is not null or tenant.suspended_at is not null as must_stop
    from account join tenant on tenant.id = account.tenant_id
    where owner_instance = ${instanceId}
      and (sync_wanted <> '{}' or status <> 'active' or deleted_at is not null or tenant.suspended_at is not null)
  `.execute(db)
  return rows.map(row => ({
    accountId: row.id,
    epoch: row.owner_epoch,
    mustStop: row.must_stop,
    mustRestart: row.sync_wanted.includes('restart'),
  }))
}

/** What an account's owner begins a pass with. */
export interface Wanted {
  /** What was asked for, such as `mail` or `restart`. */
  wanted: string[]
  /** Whether the first sync is complete. */
  isInitialized: boolean
}

/** Takes what was asked for, so that a request during a pass becomes one more pass. */
export async function takeWanted(db: Kysely<Tables>, owned: OwnedAccount): Promise<Wanted> {
  const { rows } = await sql<{ wanted: string[]; is_initialized: boolean }>`
    with taken as (
      select id, sync_wanted from account
      where id = ${owned.id} and owner_instance = ${owned.instanceId} and owner_epoch = ${owned.epoch}
        and sync_wanted <> '{}' for update
    ),
    emptied as (update account set sync_wanted = '{}' from taken where account.id = taken.id)
    select coalesce((select sync_wanted from taken), '{}') as wanted, initialized_at is not null as is_initialized
    from account where id = ${owned.id}
  `.execute(db)
  const [row] = rows
  return { wanted: row?.wanted ?? [], isInitialized: row?.is_initialized ?? false }
}

/** Lets the account go, so that the next claim need not wait for the lease to run out. */
export async function releaseAccount(db: Kysely<Tables>, owned: OwnedAccount): Promise<void> {
  await sql`
    update account set owner_instance = null, runtime_state = 'stopped', runtime_updated_at = clock_timestamp(),
      runtime_detail = case when status = 'active' then null else status_reason end
    where id = ${owned.id} and owner_instance = ${owned.instanceId} and owner_epoch = ${owned.epoch}
  `.execute(db)
}
