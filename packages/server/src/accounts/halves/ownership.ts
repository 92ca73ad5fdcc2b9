import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import { isLive } from '../../processes/lease.ts'
import { isUnowned, unownedTenants } from '../unowned.ts'
import type { HalfKind } from './kind.ts'

/** An account as its owner holds it. The epoch is the fencing token of this ownership. */
export interface OwnedAccount {
  id: string
  tenantId: string
  email: string
  instanceId: string
  epoch: string
}

/** An account that was just claimed. */
export interface ClaimedAccount extends OwnedAccount {
  weight: number
  /** The kinds of its halves. */
  kinds: HalfKind[]
}

/** The account is no longer ours: it has another owner or none, or it was paused or deleted. */
export class FenceLost extends Error {
  constructor(accountId: string) {
    super(`account ${accountId} is no longer owned by this instance`)
    this.name = 'FenceLost'
  }
}

/**
 * A condition on a row of `account_half`: it is the half of this kind, and its account is active and still owned like
 * this. A half has the owner and the epoch of its account, and no owner while the account is not to be followed.
 */
export function isOwned({ id, instanceId, epoch }: OwnedAccount, kind: HalfKind): RawBuilder<boolean> {
  return sql`(account_half.account_id = ${id} and account_half.kind = ${kind}
    and account_half.owner_instance = ${instanceId} and account_half.owner_epoch = ${epoch})`
}

/** More at once would hold locks for too long. */
export const RELEASED_AT_ONCE = 500

/** The other kinds sort before mail, and a range is read by the index alone. */
const isOtherHalf = sql`account_half.account_id = account.id and kind < 'mail'`

/**
 * A row for a lateral join if every half of the account could be locked, none while somebody holds one of them. As a
 * subquery with locks, so that the planner reads it account by account. The half of mail, which each account has, is
 * apart from the others, so that it is read once. Nothing is waited for, so the order of the locks does not matter.
 */
const freeHalves = sql`
  select from (
    select from account_half where account_half.account_id = account.id and kind = 'mail' for no key update skip locked
  ) as mail cross join lateral (
    select count(*) as locked from (
      select from account_half where ${isOtherHalf} for no key update skip locked
    ) as other
  ) as others
  where locked = (select count(*) from account_half where ${isOtherHalf})`

/** An account that is paused or waits for a new password, whose halves have no owner, is not in trouble. */
const troublesOfReleased = sql`
  behind_since = case when owner_instance is not null then coalesce(behind_since, clock_timestamp()) end,
  failing_since = case when owner_instance is not null then failing_since end`

/**
 * Takes accounts from instances whose lease lapsed. An account to which such an instance still writes is left to the
 * next call.
 * @returns how many; if `RELEASED_AT_ONCE`, there may be more
 */
export async function releaseOfDead(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with released as (
      update account set owner_instance = null
      -- as an array, for which the planner reads no other accounts
      where id = any(array(
        select dead.id from instance cross join lateral (
          select account.id from account cross join lateral (${freeHalves}) as free
          where account.owner_instance = instance.id order by account.id limit ${RELEASED_AT_ONCE}
          for no key update of account skip locked
        ) as dead
        where not ${isLive} limit ${RELEASED_AT_ONCE}
      ))
      returning id
    ), let_go as (
      update account_half set owner_instance = null, ${troublesOfReleased}
      where account_id = any(array(select id from released))
    )
    select count(*)::int as count from released
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** A condition for the pulse: see `hasUnfollowed`. Accounts of suspended tenants are left alone. */
export const isUnfollowed = sql<boolean>`(
  exists (
    with recursive unowned (tenant_id) as (${unownedTenants})
    select from unowned join tenant on tenant.id = unowned.tenant_id where suspended_at is null
  ) or exists (
    -- ORDER BY keeps the planner from reading all accounts, most of which have a living owner.
    select from instance cross join lateral (
      select account.id from account where owner_instance = instance.id order by account.id limit 1
    ) as followed
    where not ${isLive}
  )
)`

/** Whether there is an account to claim, or to take from an instance whose lease lapsed. */
export async function hasUnfollowed(db: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select ${isUnfollowed} as has
  `.execute(db)
  return rows[0]?.has ?? true
}

interface ClaimedRow {
  id: string
  tenant_id: string
  email: string
  owner_epoch: string
  weight: number
  kinds: HalfKind[]
}

/**
 * Takes up to `limit` active accounts that have no owner, with their halves.
 * @param weight the work that a row of `account` makes; by default all make the same
 */
export async function claimAccounts(
  db: Kysely<Tables>,
  instanceId: string,
  limit: number,
  weight: RawBuilder<number> = sql`1`,
): Promise<ClaimedAccount[]> {
  const { rows } = await sql<ClaimedRow>`
    with recursive unowned (tenant_id) as (${unownedTenants}), claimed as (
      update account set owner_instance = ${instanceId}, owner_epoch = owner_epoch + 1
      where id in (
        select claimable.id from unowned join tenant on tenant.id = unowned.tenant_id
        cross join lateral (
          select account.id from account cross join lateral (${freeHalves}) as free
          where account.tenant_id = tenant.id and ${isUnowned} order by account.id limit ${limit}
          for no key update of account skip locked
        ) as claimable
        where tenant.suspended_at is null limit ${limit}
      )
      returning id, tenant_id, email, owner_epoch
    ), taken_up as (
      update account_half set owner_instance = ${instanceId}, owner_epoch = claimed.owner_epoch, sync_wanted = '{}',
        runtime_state = 'pending', runtime_detail = null, runtime_instance = ${instanceId},
        runtime_updated_at = clock_timestamp(), behind_since = coalesce(behind_since, clock_timestamp())
      from claimed where account_half.account_id = claimed.id
      returning account_half.account_id, account_half.kind
    )
    select id, tenant_id, email, owner_epoch, ${weight} as weight,
      array(select kind from taken_up where taken_up.account_id = account.id order by kind desc) as kinds
    from claimed as account
  `.execute(db)
  return rows.map(row => ({
    id: row.id,
    tenantId: row.tenant_id,
    email: row.email,
    instanceId,
    epoch: row.owner_epoch,
    weight: row.weight,
    kinds: row.kinds,
  }))
}

/** Lists a page of the accounts that the tables assign to the instance, by id. */
export async function listOwned(
  db: Kysely<Tables>,
  instanceId: string,
  afterId: string,
  limit: number,
): Promise<Array<Pick<OwnedAccount, 'id' | 'instanceId' | 'epoch'>>> {
  const { rows } = await sql<{ id: string; owner_epoch: string }>`
    select id, owner_epoch from account
    where owner_instance = ${instanceId} and id > ${afterId}
    order by id limit ${limit}
  `.execute(db)
  return rows.map(row => ({ id: row.id, instanceId, epoch: row.owner_epoch }))
}

/**
 * Releases accounts, so that others can claim them before the lease runs out. Several are locked in their order first, all
 * accounts before all halves, by statements of their own: one that locks rows and then writes them from an older snapshot
 * can deadlock with itself and one other.
 */
export async function releaseAccounts(
  db: Kysely<Tables>,
  owned: ReadonlyArray<Pick<OwnedAccount, 'id' | 'instanceId' | 'epoch'>>,
): Promise<void> {
  if (owned.length === 1) return letGo(db, owned)
  const ids = owned.map(({ id }) => id)
  await db.transaction().execute(async tx => {
    await sql`select from account where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx)
    await sql`
      select from account_half where account_id = any(${ids}::uuid[]) order by account_id, kind desc for no key update
    `.execute(tx)
    await letGo(tx, owned)
  })
}

async function letGo(
  db: Kysely<Tables>,
  owned: ReadonlyArray<Pick<OwnedAccount, 'id' | 'instanceId' | 'epoch'>>,
): Promise<void> {
  await sql`
    with released as (
      update account set owner_instance = null
      from unnest(
        ${owned.map(({ id }) => id)}::uuid[], ${owned.map(({ instanceId }) => instanceId)}::uuid[],
        ${owned.map(({ epoch }) => epoch)}::bigint[]
      ) as held (id, instance_id, epoch)
      where account.id = held.id and owner_instance = instance_id and owner_epoch = epoch
      returning account.id, status, status_reason
    )
    update account_half set owner_instance = null, runtime_state = 'stopped', runtime_updated_at = clock_timestamp(),
      runtime_detail = case when released.status = 'active' then null else released.status_reason end,
      ${troublesOfReleased}
    from released where account_half.account_id = released.id
  `.execute(db)
}
