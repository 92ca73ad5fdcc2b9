import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
<<<<<<< HEAD
import { weight } from '../features/mail/following/weight.ts'

=======
import type { Tables } from '../database/tables.ts'
import { unflushed } from '../database/unflushed.ts'
import { isUnowned, unownedTenants } from './unowned.ts'
import { NOTICE } from './store.ts'
import { isLive } from '../processes/lease.ts'

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
}

/** Accounts of which nobody says how much work they make. */
const EQUAL_WEIGHT = sql<number>`1::float8`

/** The account is no longer ours: it has another owner or none, or it was paused or deleted. */
export class FenceLost extends Error {
  constructor(accountId: string) {
    super(`account ${accountId} is no longer owned by this instance`)
    this.name = 'FenceLost'
  }
}

/**
 * Numbers the look that begins: messages found missing from now on are told apart from those missing before.
 * @throws FenceLost
 */
export async function beginLook(db: Kysely<Tables>, owned: OwnedAccount): Promise<number> {
  const { rows } = await sql<{ look: number }>`
    update account set look = look + 1 where ${isOwned(owned)} returning look::float8 as look
  `.execute(db)
  if (!rows[0]) throw new FenceLost(owned.id)
  return rows[0].look
}

/** An account that is paused or waits for a new password is not in trouble. */
const troublesOfReleased = sql`
  behind_since = case when status = 'active' then coalesce(behind_since, clock_timestamp()) end,
  failing_since = case when status = 'active' then failing_since end`

/** More at once would hold locks for too long. */
export const RELEASED_AT_ONCE = 500

/**
 * Takes accounts from instances whose lease lapsed. An account to which such an instance still writes is left to the
 * next call.
 * @returns how many; if `RELEASED_AT_ONCE`, there may be more
 */
export async function releaseOfDead(db: Kysely<Tables>): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update account set owner_instance = null, ${troublesOfReleased}
    -- as an array, for which the planner reads no other accounts
    where id = any(array(
      select dead.id from instance cross join lateral (
        select account.id from account where owner_instance = instance.id
        order by account.id limit ${RELEASED_AT_ONCE} for update skip locked
      ) as dead
      where not ${isLive} limit ${RELEASED_AT_ONCE}
    ))
  `.execute(db)
  return Number(numAffectedRows)
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

type ClaimedRow = { id: string; tenant_id: string; email: string; owner_epoch: string; weight: number }

/**
 * Takes up to `limit` active accounts that have no owner.
 * @param weight the work that a row of `account` makes
 */
export async function claimAccounts(
  db: Kysely<Tables>,
  instanceId: string,
  limit: number,
  weight: RawBuilder<number> = EQUAL_WEIGHT,
): Promise<ClaimedAccount[]> {
  const { rows } = await sql<ClaimedRow>`
    with recursive unowned (tenant_id) as (${unownedTenants})
    update account set owner_instance = ${instanceId}, owner_epoch = owner_epoch + 1, sync_wanted = '{}',
      runtime_state = 'pending', runtime_detail = null, runtime_instance = ${instanceId},
      runtime_updated_at = clock_timestamp(), behind_since = coalesce(behind_since, clock_timestamp())
    where id in (
      select claimable.id from unowned join tenant on tenant.id = unowned.tenant_id
      cross join lateral (
        select account.id from account where account.tenant_id = tenant.id and ${isUnowned}
        order by account.id limit ${limit} for update skip locked
      ) as claimable
      where tenant.suspended_at is null limit ${limit}
    )
    returning id, tenant_id, email, owner_epoch, ${weight} as weight
  `.execute(db)
  return rows.map(row => ({
    id: row.id,
    tenantId: row.tenant_id,
    email: row.email,
    instanceId,
    epoch: row.owner_epoch,
    weight: row.weight,
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

/** An owned account that its owner should look at. */
export interface Attention {
  accountId: string
  epoch: string
  /** The account is not to be synced any more: it is paused or deleted, or its tenant is suspended. */
  mustStop: boolean
  /** Settings or servers changed. */
  mustRestart: boolean
  /** Its provider has pushed that something happened. */
  isNoticed: boolean
  /** Something else is wanted. */
  isWanted: boolean
}

const RESTART = 'restart'

/**
 * A condition for the pulse: whether `takeAttention` would find an account.
 * @param nudgedIds accounts whose followers were told already that something is wanted, and will take it when they can
 */
export function needsAttention(instanceId: string, nudgedIds: readonly string[]): RawBuilder<boolean> {
  return sql`(
    exists (select from account where owner_instance = ${instanceId}
      and (sync_wanted <> '{}' or status <> 'active' or deleted_at is not null)
      and not (status = 'active' and deleted_at is null and id = any(${[...nudgedIds]}::uuid[])
        and not sync_wanted && ${[RESTART, NOTICE]}::text[]))
    or exists (select from tenant join account on account.tenant_id = tenant.id
      where suspended_at is not null and owner_instance = ${instanceId})
  )`
}

/**
 * Finds the owned accounts that need attention, and takes what was pushed of them, so that a later push is a new one. What
 * else is wanted stays. What a crash of the database gives back is looked at twice.
 */
export async function takeAttention(db: Kysely<Tables>, instanceId: string): Promise<Attention[]> {
  const { rows } = await sql<{
    id: string
    owner_epoch: string
    must_stop: boolean
    sync_wanted: string[]
    is_noticed: boolean
  }>`
    with noticed as (
      update account set sync_wanted = array_remove(sync_wanted, ${NOTICE})
      where owner_instance = ${instanceId} and sync_wanted <> '{}' and ${NOTICE} = any(sync_wanted)
        and status = 'active' and deleted_at is null and ${unflushed}
      returning id
    )
    select id, owner_epoch, sync_wanted, status <> 'active' or deleted_at is not null as must_stop,
      id in (select id from noticed) as is_noticed
    from account
    where owner_instance = ${instanceId}
      and (sync_wanted <> '{}' or status <> 'active' or deleted_at is not null)
    union all
    select account.id, owner_epoch, '{}', true, false
    from tenant join account on account.tenant_id = tenant.id
    where suspended_at is not null and owner_instance = ${instanceId}
  `.execute(db)
  return rows.map(row => ({
    accountId: row.id,
    epoch: row.owner_epoch,
    mustStop: row.must_stop,
    mustRestart: row.sync_wanted.includes(RESTART),
    isNoticed: row.is_noticed,
    isWanted: row.sync_wanted.some(kind => kind !== NOTICE),
  }))
}

/** What the owner of an account needs to know at the start of a pass. */
export interface Wanted {
  /** What was asked for, such as `mail` or `restart`. */
  wanted: string[]
  /** Whether the first sync is complete. */
  isInitialized: boolean
}

/**
 * Takes and clears what was asked for, so that a request during a pass causes another pass.
 * @throws FenceLost, so that even a pass that writes nothing proves its ownership
 */
export async function takeWanted(db: Kysely<Tables>, owned: OwnedAccount): Promise<Wanted> {
  const { rows } = await sql<Wanted>`
    with ${takingWanted(owned)} select ${wantedColumns} from account where ${isOwned(owned)}
  `.execute(db)
  const [row] = rows
  if (!row) throw new FenceLost(owned.id)
  return row
}

/** The parts of a statement that takes what was asked for and reads more of the account as well. */
export function takingWanted(owned: OwnedAccount): RawBuilder<unknown> {
  return sql`
    taken as (
      select id, sync_wanted from account
      where id = ${owned.id} and owner_instance = ${owned.instanceId} and owner_epoch = ${owned.epoch}
        and sync_wanted <> '{}' for update
    ),
    emptied as (update account set sync_wanted = '{}' from taken where account.id = taken.id)`
}

export const wantedColumns = sql.raw(
  `coalesce((select sync_wanted from taken), '{}') as wanted, initialized_at is not null as "isInitialized"`,
)

export function isOwned(owned: OwnedAccount): RawBuilder<boolean> {
  return sql`(account.id = ${owned.id} and owner_instance = ${owned.instanceId} and owner_epoch = ${owned.epoch}
    and account.status = 'active' and deleted_at is null)`
}

/** Releases accounts, so that others can claim them before the lease runs out. */
export async function releaseAccounts(
  db: Kysely<Tables>,
  owned: ReadonlyArray<Pick<OwnedAccount, 'id' | 'instanceId' | 'epoch'>>,
): Promise<void> {
  await sql`
    update account set owner_instance = null, runtime_state = 'stopped', runtime_updated_at = clock_timestamp(),
      runtime_detail = case when status = 'active' then null else status_reason end,
      ${troublesOfReleased}
    from unnest(
      ${owned.map(({ id }) => id)}::uuid[], ${owned.map(({ instanceId }) => instanceId)}::uuid[],
      ${owned.map(({ epoch }) => epoch)}::bigint[]
    ) as held (id, instance_id, epoch)
    where account.id = held.id and owner_instance = instance_id and owner_epoch = epoch
  `.execute(db)
}

>>>>>>> 9cf6ef7d (Let the follower bring the weight of an account)
/** Weighs accounts again, which may have grown since they were claimed. */
export async function weighAccounts(
  db: Db,
  accountIds: readonly string[],
  weight: RawBuilder<number>,
): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; weight: number }>`
    select id, ${weight} as weight from account where id = any(${[...accountIds]}::uuid[])
  `.execute(db)
  return new Map(rows.map(row => [row.id, row.weight]))
}
