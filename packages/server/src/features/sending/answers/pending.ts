import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isFree } from '../../../processes/claims.ts'
import type { Lease } from '../../../processes/lease.ts'
import { suspendedTenants } from '../../tenancy/tenants/store.ts'
import {
  ACCOUNTS_LOOKED_AT,
  GIVE_UP_DAYS,
  HURRIED_SECONDS,
  planRetrySeconds,
  RETRY_SECONDS,
} from './limits.ts'

/** A message that this process looks at. */
export interface ClaimedAnswer {
  messageId: string
  tenantId: string
  accountId: string
  claimedBy: string
  attempts: number
  /** It has been tried for too long. */
  isLast: boolean
}

/** A condition for the pulse: whether messages are due. */
export const hasDueAnswers = sql<boolean>`exists (
  select from pending_answer where due_at <= clock_timestamp() and tenant_id not in (${suspendedTenants})
)`

/**
 * Claims messages that are due, the longest waiting of each account, so that no account keeps others waiting. Tenants take
 * turns.
 */
export async function claimAnswers(
  db: Db,
  lease: Lease,
  { limit, running }: { limit: number; running: readonly ClaimedAnswer[] },
): Promise<ClaimedAnswer[]> {
  const { rows } = await sql<ClaimedAnswer>`
    with due as (
      select account_id, min(due_at) as due_at,
        row_number() over (partition by tenant_id order by min(due_at))
          + (select count(*) from unnest(${running.map(({ tenantId }) => tenantId)}::uuid[]) as taken(tenant_id)
            where taken.tenant_id = pending_answer.tenant_id) as turn
      from pending_answer
      where due_at <= clock_timestamp() and not account_id = any(${running.map(({ accountId }) => accountId)}::uuid[])
        and tenant_id not in (${suspendedTenants})
      group by tenant_id, account_id order by turn, due_at limit ${ACCOUNTS_LOOKED_AT}
    ), picked as (
      select first.message_id from due cross join lateral (
        select message_id from pending_answer
        where pending_answer.account_id = due.account_id and pending_answer.due_at <= clock_timestamp()
          and ${isFree('claimed_by', lease)}
        order by pending_answer.due_at limit 1 for update skip locked
      ) as first
      order by turn, due.due_at limit ${limit}
    )
    update pending_answer set claimed_by = ${lease.id}, attempts = attempts + 1
    from picked where pending_answer.message_id = picked.message_id
    returning pending_answer.message_id as "messageId", tenant_id as "tenantId", account_id as "accountId",
      claimed_by as "claimedBy", attempts,
      greatest(created_at, (select resumed_at from tenant where id = tenant_id))
        < clock_timestamp() - make_interval(days => ${GIVE_UP_DAYS}) as "isLast"
  `.execute(db)
  return rows
}

/** Ends the look at a message, in the transaction of its result. False if another process holds it. */
export async function settleAnswer(
  db: Db | UnitOfWork['sql'],
  { messageId, claimedBy }: ClaimedAnswer,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from pending_answer where message_id = ${messageId} and claimed_by = ${claimedBy}
  `.execute(db)
  return numAffectedRows > 0n
}

/** Gives a message back, to be looked at again after a pause. */
export async function releaseAnswer(db: Db, answer: ClaimedAnswer): Promise<void> {
  await sql`
    update pending_answer set claimed_by = null,
      due_at = clock_timestamp() + make_interval(secs => ${planRetrySeconds(answer.attempts)})
    where message_id = ${answer.messageId} and claimed_by = ${answer.claimedBy}
  `.execute(db)
}

/**
 * Accounts that changed may be readable again. They change all the time, so that each message still waits a minute after
 * its last attempt.
 */
export async function hurryAnswers(db: Db, accountIds: readonly string[]): Promise<void> {
  await sql`
    update pending_answer set due_at = greatest(
      clock_timestamp(),
      due_at - make_interval(
        secs => (${[...RETRY_SECONDS]}::int[])[least(attempts, ${RETRY_SECONDS.length}::int)] - ${HURRIED_SECONDS}::int)
    )
    where account_id = any(${[...accountIds]}::uuid[]) and attempts > 0
      and due_at > clock_timestamp() + make_interval(secs => ${HURRIED_SECONDS})
  `.execute(db)
}

/** Messages of the whole installation that wait to be looked at. */
export async function countAnswers(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from pending_answer`.execute(db)
  return rows[0]?.count ?? 0
}
