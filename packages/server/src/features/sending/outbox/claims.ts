import { type RawBuilder, sql } from 'kysely'
import { inOneFlight } from '../../../database/in-one-flight.ts'
import type { Db } from '../../../database/pool.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import { isFree, isUnheld } from '../../../processes/claims.ts'
import type { Lease } from '../../../processes/lease.ts'
import { suspendedTenants } from '../../tenancy/tenants/store.ts'
import { delayPaced, nextDueOf, readyEntries } from './pace.ts'
import type { RejectedRecipient } from './rules.ts'
import { becomingUnknown, claiming, losing, moving } from './transitions.ts'
import { type DueAccount, SENDS_PER_ACCOUNT } from './send-shares.ts'

/** The right of a process to make one attempt. */
export interface Claim {
  id: string
  tenantId: string
  accountId: string
  /** New with each claim. */
  claim: string
  claimedBy: string
  /** Whether a recipient was accepted by an earlier attempt. */
  isSent: boolean
  /** The event that an invitation is about; null for a send. */
  eventId: string | null
}

/** An entry that is claimed, with the data that sending needs. */
export interface ClaimedEntry extends Claim {
  waiting: string[]
  rejected: RejectedRecipient[]
  sendAt: Date
  attempts: number
  /** The Date of the message. */
  datedAt: Date
  threadId: string | null
  /** With angle brackets. */
  internetMessageId: string
  /** Whether an earlier attempt may have left a copy that was prepared at the provider, and never sent. */
  mayBePrepared: boolean
  /** The suppression list that it names. */
  listId: string | null
  isReply: boolean
}

const ACCOUNTS_MAX = 200
/** An account that cannot be used now is looked at again after this time, or when it changes. */
const HELD_SECONDS = 60

/**
 * Accounts with messages that are due, except accounts whose server is busy. Accounts that cannot send now are put off
 * meanwhile, so that they do not hide the others.
 */
export async function listDueAccounts(db: Db, busyHosts: readonly string[]): Promise<DueAccounts> {
  return toDueAccounts((await listingDueAccounts(busyHosts).execute(db)).rows)
}

/** Accounts with messages that are due, as far as they can send, and ids of deleted ones. */
export interface DueAccounts {
  usable: DueAccount[]
  deletedIds: string[]
}

interface DueRow extends DueAccount {
  isUsable: boolean
  isDeleted: boolean
}

function toDueAccounts(rows: readonly DueRow[]): DueAccounts {
  return {
    usable: rows.filter(({ isUsable }) => isUsable),
    deletedIds: rows.flatMap(({ accountId, isDeleted }) => (isDeleted ? [accountId] : [])),
  }
}

function listingDueAccounts(busyHosts: readonly string[]): RawBuilder<DueRow> {
  return sql`
    with due as (
      select held.account_id, held.tenant_id, held.pauses, held.served_at,
        account.status = 'active' and account.deleted_at is null and held.tenant_id not in (${suspendedTenants})
          as is_usable,
        account.deleted_at is not null as is_deleted,
        lower(coalesce(account.imap -> 'smtp' ->> 'host', account.provider)) as host
      from sending_account as held join account on account.id = held.account_id
      where held.due_at <= clock_timestamp()
        and not lower(coalesce(account.imap -> 'smtp' ->> 'host', account.provider)) = any(${[...busyHosts]}::text[])
      -- However many accounts of one tenant are due, the others are among those that are looked at.
      order by row_number() over (partition by held.tenant_id order by held.served_at), held.served_at
      limit ${ACCOUNTS_MAX}
    ), put_off as (
      update sending_account set due_at = clock_timestamp() + make_interval(secs => ${HELD_SECONDS})
      where account_id in (select account_id from due where not is_usable)
    )
    select account_id as "accountId", tenant_id as "tenantId", host, pauses > 0 as "isDoubted",
      extract(epoch from greatest(served_at, '1970-01-01'))::float8 as "servedAt",
      (select count(*) from (${readyEntries(sql`due.account_id`, sql`${SENDS_PER_ACCOUNT}`)}) as ready)::int as due, is_usable as "isUsable", is_deleted as "isDeleted"
    from due`
}

/** The work that there is, found by one cheap look. */
export interface Pending {
  /** The database was restored to an earlier state: call `holdAfterRestore` before anything is claimed. */
  isRestored: boolean
  /** Claims of processes that died, or of this one without an attempt. */
  hasLost: boolean
  hasDueAccounts: boolean
  hasDueTasks: boolean
  /** Seconds until the next message or task becomes due; null if none will. */
  seconds: number | null
}

export async function findPending(db: Db, lease: Lease, running: readonly string[]): Promise<Pending> {
  // A statement without FROM has one row.
  return (await findingPending(lease, running).execute(db)).rows[0]!
}

/** `findPending` and `listDueAccounts` in one round trip, for a look that will most likely claim. */
export async function findPendingAndDue(
  db: Db,
  lease: Lease,
  { running, busyHosts }: { running: readonly string[]; busyHosts: readonly string[] },
): Promise<{ pending: Pending; due: DueAccounts }> {
  const [pending, due] = await inOneFlight(db, [
    findingPending(lease, running),
    listingDueAccounts(busyHosts),
  ])
  return { pending: pending[0]!, due: toDueAccounts(due) }
}

function findingPending(lease: Lease, running: readonly string[]): RawBuilder<Pending> {
  return sql`
    select ${isRestored} as "isRestored",
      exists (select from outbox where ${isLost(lease, running)}) as "hasLost",
      ${hasDueAccounts} as "hasDueAccounts",
      exists (select from outbox where task is not null and task_at <= clock_timestamp()) as "hasDueTasks",
      extract(epoch from least(
        (select due_at from sending_account where due_at > clock_timestamp() order by due_at limit 1),
        (select min(task_at) from outbox where task is not null and task_at > clock_timestamp())
      ) - clock_timestamp())::float8 as seconds`
}

/**
 * A condition for the pulse: whether there is something that a look would begin now.
 * @param running ids of the entries that this process hands over, or whose tasks it does
 */
export function isPending(
  lease: Pick<Lease, 'id'>,
  running: { sends: readonly string[]; tasks: readonly string[] },
): RawBuilder<boolean> {
  return sql`(
    ${hasDueAccounts}
    or exists (select from outbox where task is not null and task_at <= clock_timestamp()
      and ${isFree('task_by', lease, isNoneOf(running.tasks))}
      and tenant_id not in (${suspendedTenants}))
    or exists (select from outbox where ${isLost(lease, running.sends)})
    or ${isRestored}
  )`
}

/** The first row of the index: a condition on all rows would make the planner read every account that ever sent. */
const hasDueAccounts = sql<boolean>`exists (
  select from (select due_at from sending_account where due_at is not null order by due_at limit 1) as first
  where first.due_at <= clock_timestamp()
)`

const isRestored = sql<boolean>`exists (select from sending_epoch join feed_epoch on sending_epoch.epoch <> feed_epoch.epoch)`

export function isLost(lease: Pick<Lease, 'id'>, running: readonly string[]) {
  return sql<boolean>`phase in ('pre', 'handed_over') and ${isNoneOf(running)} and (
    claimed_by = ${lease.id} or ${isUnheld('claimed_by')})`
}

/** Whether an entry is none of these. */
export function isNoneOf(ids: readonly string[]) {
  return sql<boolean>`not id = any(${[...ids]}::uuid[])`
}

/**
 * Claims messages of accounts that are due, up to the room of each. No account sends more than its share over all processes:
 * its row is held meanwhile. An account that another process holds is passed over.
 */
export async function claimDue(
  db: Db,
  lease: Lease,
  shares: ReadonlyMap<string, number>,
): Promise<ClaimedEntry[]> {
  if (shares.size === 0) return []
  return db.transaction().execute(async tx => {
    // An entry that is being accepted shares its account's lock. It does not keep others from being claimed, but the
    // account's time from being set back: the time at which it is due is not visible yet.
    const { rows: held } = await sql<{ account_id: string; is_calm: boolean }>`
      with held as (
        select account_id from sending_account
        where account_id = any(${[...shares.keys()]}::uuid[]) and due_at <= clock_timestamp() and not ${isRestored}
        order by account_id for no key update skip locked
      ), calm as (
        select account_id from sending_account where account_id in (select account_id from held) for update skip locked
      )
      select account_id, account_id in (select account_id from calm) as is_calm from held
    `.execute(tx)
    const ids = held.map(({ account_id }) => account_id)
    const calmIds = held.flatMap(({ account_id, is_calm }) => (is_calm ? [account_id] : []))
    // A statement of its own sees everything that was committed before the accounts were held.
    const { rows } = await sql<ClaimedEntry>`
      with share as materialized (
        select account_id, least(count, greatest(0, ${SENDS_PER_ACCOUNT} - (
          select count(*) from outbox as running
          where running.account_id = share.account_id and running.phase in ('pre', 'handed_over')
        ))) as room
        from unnest(${ids}::uuid[], ${ids.map(id => shares.get(id) ?? 0)}::int[]) as share (account_id, count)
      ), picked as (
        select claimable.* from share cross join lateral (
          select outbox.id
          from (${readyEntries(sql`share.account_id`, sql`share.room`)}) as ready
          join outbox on outbox.id = ready.id where outbox.due_at <= clock_timestamp()
          for update of outbox skip locked
        ) as claimable
      )
      ${moving(claiming(lease), sql`outbox.id = picked.id`, sql`picked`)}
      returning outbox.id, tenant_id as "tenantId", account_id as "accountId", claim, claimed_by as "claimedBy",
        status = 'sent' as "isSent", event_id as "eventId", waiting, rejected, send_at as "sendAt", attempts, dated_at as "datedAt",
        thread_id as "threadId", internet_message_id as "internetMessageId",
        may_be_prepared as "mayBePrepared", list_id as "listId", in_reply_to is not null or forward_of is not null as "isReply"
    `.execute(tx)
    await delayPaced(tx, ids)
    const serving = sql`
      update sending_account as held set served_at = clock_timestamp(),
        due_at = case when account_id = any(${calmIds}::uuid[]) then (
          select greatest(next.due_at, held.paused_until) from (select ${nextDueOf(sql`held.account_id`)} as due_at) as next
          where next.due_at is not null
        ) else due_at end
      where account_id = any(${ids}::uuid[])`
    await executeUnawaited(tx, serving)
    return rows
  })
}

/**
 * A message that ends its process would end each one that takes it over. The first losses cost no time: most are of
 * messages that a process had claimed when something else ended it.
 */
const lossPause = sql`make_interval(secs => case when losses < 2 then 0 else least(2 ^ losses, 600) end)`

/**
 * Takes over entries that no living process is sending: before the hand-over they are queued again, and after it the
 * outcome is unknown. Entries that this process holds by the table, but does not run, count as well. `settleLost` takes
 * entries whose message is sent already.
 */
export async function recoverClaims(db: Db, lease: Lease, running: readonly string[]): Promise<void> {
  await sql`
    with lost as (
      select id from outbox where ${isLost(lease, running)} for update skip locked
    ), queued as (
      ${moving(losing(lossPause), sql`outbox.id = lost.id`, sql`lost`)}
      returning account_id, due_at, case when is_paced then mail_merge_id end as paced_id
    ), unknown as (
      ${moving(becomingUnknown(0), sql`outbox.id = lost.id`, sql`lost`)}
    ), looked_at as (
      update sending_account set due_at = least(due_at, greatest(clock_timestamp(), paused_until))
      where account_id in (select account_id from queued) returning account_id
    )
    -- Merges are locked after their accounts.
    update mail_merge_pace as pace set due_at = least(pace.due_at, next.due_at)
    from (
      select paced_id, min(due_at) as due_at from queued
      where paced_id is not null and account_id in (select account_id from looked_at)
      group by paced_id
    ) as next
    where pace.id = next.paced_id
  `.execute(db)
}

/**
 * Looks at accounts that changed: accounts that were held back may send again, and scheduled entries of deleted
 * accounts are cancelled.
 */
export async function wakeAccounts(db: Db, accountIds: readonly string[]): Promise<void> {
  await sql`
    update sending_account set due_at = greatest(clock_timestamp(), paused_until)
    where account_id = any(${[...accountIds]}::uuid[]) and due_at > clock_timestamp() and (
      due_at < clock_timestamp() + make_interval(secs => ${HELD_SECONDS})
      or exists (select from account where account.id = account_id and deleted_at is not null)
    )
  `.execute(db)
}
