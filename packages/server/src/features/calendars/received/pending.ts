import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isFree } from '../../../processes/claims.ts'
import type { Lease } from '../../../processes/lease.ts'
import { suspendedTenants } from '../../tenancy/tenants/store.ts'
import { ACCOUNTS_LOOKED_AT, EARLY_SECONDS, GIVE_UP_DAYS, planRetrySeconds } from './limits.ts'

/** A message that this process reads, since it may be an invitation. */
export interface ClaimedInvitation {
  messageId: string
  tenantId: string
  accountId: string
  claimedBy: string
  attempts: number
  /** It has been tried for too long. */
  isLast: boolean
}

/** A condition for the pulse: whether messages are due. */
export const hasDueInvitations = sql<boolean>`exists (
  select from pending_invitation where due_at <= clock_timestamp() and tenant_id not in (${suspendedTenants})
)`

/**
 * Claims messages that are due, the longest waiting of each account, so that no account keeps others waiting. Tenants take
 * turns. Of an account no two messages are claimed at once, by any process: the end of an event is not to overtake it.
 */
export async function claimInvitations(
  db: Db,
  lease: Lease,
  { limit, running }: { limit: number; running: readonly ClaimedInvitation[] },
): Promise<ClaimedInvitation[]> {
  const { rows } = await sql<ClaimedInvitation>`
    with recursive account as (
      -- The first message of each account, by the index: the others may be many.
      (select account_id, tenant_id, due_at from pending_invitation order by account_id, due_at limit 1)
      union all
      select next.account_id, next.tenant_id, next.due_at from account cross join lateral (
        select account_id, tenant_id, due_at from pending_invitation
        where pending_invitation.account_id > account.account_id order by account_id, due_at limit 1
      ) as next
    ), due as (
      select account_id, due_at,
        row_number() over (partition by tenant_id order by due_at)
          + (select count(*) from unnest(${running.map(({ tenantId }) => tenantId)}::uuid[]) as taken(tenant_id)
            where taken.tenant_id = account.tenant_id) as turn
      from account
      where due_at <= clock_timestamp() and not account_id = any(${running.map(({ accountId }) => accountId)}::uuid[])
        and tenant_id not in (${suspendedTenants})
        and account_id not in (select account_id from pending_invitation
          where claimed_by is not null and not ${isFree('claimed_by', lease)})
      order by turn, due_at limit ${ACCOUNTS_LOOKED_AT}
    ), picked as (
      select first.message_id from due cross join lateral (
        select message_id from pending_invitation
        -- The first one alone: a process that claims it at this moment has the account.
        where message_id = (select message_id from pending_invitation
            where pending_invitation.account_id = due.account_id order by due_at, message_id limit 1)
          and ${isFree('claimed_by', lease)}
        for update skip locked
      ) as first
      order by turn, due.due_at limit ${limit}
    )
    update pending_invitation set claimed_by = ${lease.id}, attempts = attempts + 1
    from picked where pending_invitation.message_id = picked.message_id
    returning pending_invitation.message_id as "messageId", tenant_id as "tenantId", account_id as "accountId",
      claimed_by as "claimedBy", attempts,
      greatest(created_at, (select resumed_at from tenant where id = tenant_id))
        < clock_timestamp() - make_interval(days => ${GIVE_UP_DAYS}) as "isLast"
  `.execute(db)
  return rows
}

/** Ends the look at a message, in the transaction of its result. False if another process holds it. */
export async function settleInvitation(
  db: Db | UnitOfWork['sql'],
  { messageId, claimedBy }: ClaimedInvitation,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from pending_invitation where message_id = ${messageId} and claimed_by = ${claimedBy}
  `.execute(db)
  return numAffectedRows > 0n
}

/**
 * Whether what a message is about may still become known: another message of the account came before it and waits, or it came
 * just now.
 */
export async function mayBeEarly(db: Db, { messageId, accountId }: ClaimedInvitation): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select one.created_at > clock_timestamp() - make_interval(secs => ${EARLY_SECONDS}) or exists (
      select from pending_invitation as earlier
      where earlier.account_id = ${accountId} and earlier.created_at < one.created_at
    ) as is from pending_invitation as one where one.message_id = ${messageId}
  `.execute(db)
  return rows[0]?.is ?? false
}

/** Gives a message back, to be read again after a pause. */
export async function releaseInvitation(db: Db, invitation: ClaimedInvitation): Promise<void> {
  await sql`
    update pending_invitation set claimed_by = null,
      due_at = clock_timestamp() + make_interval(secs => ${planRetrySeconds(invitation.attempts)})
    where message_id = ${invitation.messageId} and claimed_by = ${invitation.claimedBy}
  `.execute(db)
}

/** Messages of the whole installation that wait to be read. */
export async function countInvitations(db: Db): Promise<number> {
  const { rows } = await sql<{
    count: number
  }>`select count(*)::int as count from pending_invitation`.execute(db)
  return rows[0]?.count ?? 0
}
