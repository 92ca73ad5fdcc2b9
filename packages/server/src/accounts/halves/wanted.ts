import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import { unflushed } from '../../database/unflushed.ts'
import type { HalfKind } from './kind.ts'
import { FenceLost, isOwned, type OwnedAccount } from './ownership.ts'

/** Wanted of a half that must be followed over a new connection, since what it is reached by has changed. */
export const RESTART = 'restart'

/** Wanted of a half whose provider has pushed that something changed. */
export const NOTICE = 'notice'

/** Wanted of a half that somebody asks to be looked at over a new connection, if it is watched over one for long. */
export const RENEWAL = 'renewal'

/** `sync_wanted` with these words added, each once. */
export function wantedWith(words: readonly string[]): RawBuilder<string[]> {
  return sql<string[]>`array(select distinct unnest(sync_wanted || ${[...words]}::text[]))`
}

/** An owned account, or a half of it, that its owner should look at. */
export type Attention = { accountId: string; epoch: string } & (StoppedAccount | WantedHalf)

/** The account is not to be synced any more: it is paused or deleted, or its tenant is suspended. */
interface StoppedAccount {
  mustStop: true
}

/** Something is wanted of this half. */
export interface WantedHalf {
  mustStop: false
  kind: HalfKind
  /** Settings or servers changed. */
  mustRestart: boolean
  /** Its provider has pushed that something happened. */
  isNoticed: boolean
  /** Something else is wanted. */
  isWanted: boolean
}

/** A half whose runner was already told that something is wanted, and will take it when it can. */
export interface NudgedHalf {
  accountId: string
  kind: HalfKind
}

/**
 * A condition for the pulse: whether `takeAttention` would find an account.
 * @param kinds the kinds that this process follows; what is wanted of others would stay due
 */
export function needsAttention(
  instanceId: string,
  kinds: readonly HalfKind[],
  nudged: readonly NudgedHalf[],
): RawBuilder<boolean> {
  return sql`(
    exists (select from account_half where owner_instance = ${instanceId} and sync_wanted <> '{}'
      and kind = any(${[...kinds]}::text[])
      and not ((account_id, kind) in (
          select * from unnest(${nudged.map(({ accountId }) => accountId)}::uuid[], ${nudged.map(({ kind }) => kind)}::text[])
        ) and not sync_wanted && ${[RESTART, NOTICE]}::text[]))
    or exists (select from account where owner_instance = ${instanceId}
      and (status <> 'active' or deleted_at is not null))
    or exists (select from tenant join account on account.tenant_id = tenant.id
      where suspended_at is not null and owner_instance = ${instanceId})
  )`
}

/**
 * Finds the owned accounts, and the halves of these kinds, that need attention, and takes what was pushed of the halves, so
 * that a later push is a new one. Other wants stay. A half whose row a step holds is left to a later look: one that waited
 * would hold up all other accounts. Wants that a crash of the database gives back are looked at twice.
 */
export async function takeAttention(
  db: Kysely<Tables>,
  instanceId: string,
  kinds: readonly HalfKind[],
): Promise<Attention[]> {
  const { rows } = await sql<{
    id: string
    owner_epoch: string
    kind: HalfKind | null
    sync_wanted: string[]
    is_noticed: boolean
  }>`
    with noticed as (
      update account_half set sync_wanted = array_remove(sync_wanted, ${NOTICE})
      where (account_id, kind) in (
        select account_id, kind from account_half
        where owner_instance = ${instanceId} and sync_wanted <> '{}' and kind = any(${[...kinds]}::text[])
          and ${NOTICE} = any(sync_wanted)
        for no key update skip locked
      ) and ${unflushed}
      returning account_id, kind
    )
    select account_id as id, owner_epoch, kind, sync_wanted,
      (account_id, kind) in (select account_id, kind from noticed) as is_noticed
    from account_half
    where owner_instance = ${instanceId} and sync_wanted <> '{}' and kind = any(${[...kinds]}::text[])
    union all
    select id, owner_epoch, null, '{}', false from account
    where owner_instance = ${instanceId} and (status <> 'active' or deleted_at is not null)
    union all
    select account.id, owner_epoch, null, '{}', false
    from tenant join account on account.tenant_id = tenant.id
    where suspended_at is not null and owner_instance = ${instanceId}
  `.execute(db)
  return rows.map(({ id, owner_epoch: epoch, kind, sync_wanted: wanted, is_noticed: isNoticed }) =>
    kind === null
      ? { accountId: id, epoch, mustStop: true }
      : {
          accountId: id,
          epoch,
          mustStop: false,
          kind,
          mustRestart: wanted.includes(RESTART),
          isNoticed,
          isWanted: wanted.some(word => word !== NOTICE),
        },
  )
}

/** What the owner of a half needs to know at the start of a pass. */
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
export async function takeWanted(db: Kysely<Tables>, owned: OwnedAccount, kind: HalfKind): Promise<Wanted> {
  const { rows } = await sql<Wanted>`
    with ${takingWanted(owned, kind)} select ${wantedColumns} from account_half where ${isOwned(owned, kind)}
  `.execute(db)
  const [row] = rows
  if (!row) throw new FenceLost(owned.id)
  return row
}

/** The parts of a statement that takes what was asked for and reads more of the half as well. */
export function takingWanted(owned: OwnedAccount, kind: HalfKind): RawBuilder<unknown> {
  return sql`
    taken as (
      select account_id, kind, sync_wanted from account_half
      where ${isOwned(owned, kind)} and sync_wanted <> '{}' for no key update
    ),
    emptied as (
      update account_half set sync_wanted = '{}' from taken
      where account_half.account_id = taken.account_id and account_half.kind = taken.kind)`
}

export const wantedColumns = sql.raw(
  `coalesce((select sync_wanted from taken), '{}') as wanted, initialized_at is not null as "isInitialized"`,
)
