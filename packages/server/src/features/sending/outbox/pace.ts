import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/**
 * The order in which entries of an account may be claimed. Single messages overtake the messages of mail merges,
 * however many of these wait. Of a merge that keeps an interval between its hand-overs, at most one entry runs, and the
 * next one waits for the interval after the last hand-over. The interval is read from its entries, so it holds over
 * processes, pauses and restarts. `mail_merge_pace.due_at` is only the time of the next look: it is never too late, and
 * each claim corrects it.
 */

/** While the outcome of a hand-over is looked up, the merge is looked at again after this time. */
const UNKNOWN_SECONDS = 60

/** The ids of entries that may be claimed now, in their order. Both arguments are expressions. */
export function readyEntries(
  accountId: RawBuilder<unknown>,
  limit: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    select id from (
      (
        select id, 0 as rank, due_at from outbox as single
        where account_id = ${accountId} and mail_merge_id is null and due_at <= statement_timestamp()
        order by due_at, id limit ${limit}
      ) union all (
        select id, 1, due_at from outbox as merged
        where account_id = ${accountId} and mail_merge_id is not null and not is_paced
          and due_at <= statement_timestamp()
        order by due_at, id limit ${limit}
      ) union all (
        select head.id, 1, head.due_at from mail_merge_pace as pace cross join lateral (
          select id, due_at from outbox where mail_merge_id = pace.id and due_at <= statement_timestamp()
          order by due_at, id limit 1
        ) as head
        where pace.account_id = ${accountId} and pace.due_at <= statement_timestamp() and not exists (
          select from outbox as other
          where other.mail_merge_id = pace.id and (
            other.phase in ('pre', 'handed_over')
            or other.handed_over_at > statement_timestamp() - make_interval(secs => pace.interval_seconds)
          )
        )
        order by pace.due_at limit ${limit}
      )
    ) as ready
    order by rank, due_at, id limit ${limit}`
}

/** The time at which something of the account may be claimed next; null if nothing waits. */
export function nextDueOf(accountId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`least(
    (
      select min(due_at) from outbox
      where account_id = ${accountId} and due_at is not null and mail_merge_id is null
    ), (
      select min(due_at) from outbox
      where account_id = ${accountId} and due_at is not null and mail_merge_id is not null and not is_paced
    ), (
      select min(due_at) from mail_merge_pace where account_id = ${accountId} and due_at is not null
    )
  )`
}

/** Sets merges back that keep a time between their hand-overs. Call it after a claim, while the accounts are held. */
export async function delayPaced(tx: Transaction<Tables>, accountIds: readonly string[]): Promise<void> {
  const delaying = sql`
    update mail_merge_pace as pace set due_at = next.due_at
    from mail_merge_pace as paced cross join lateral (
      select case when count(due_at) + count(phase) > 0 then greatest(
        min(due_at),
        max(handed_over_at) + make_interval(secs => paced.interval_seconds),
        case when bool_or(phase in ('pre', 'handed_over'))
          then statement_timestamp() + make_interval(secs => paced.interval_seconds) end,
        case when bool_or(phase = 'unknown') and count(due_at) = 0
          then statement_timestamp() + make_interval(secs => ${UNKNOWN_SECONDS}) end
      ) end as due_at
      from outbox where outbox.mail_merge_id = paced.id
    ) as next
    where pace.id = paced.id and paced.account_id = any(${[...accountIds]}::uuid[])
      and paced.due_at <= statement_timestamp()`
  await executeUnawaited(tx, delaying)
}

/** Keeps a time between the hand-overs of a merge that is being accepted. */
export async function insertPace(
  unit: UnitOfWork,
  merge: { id: string; accountId: string; intervalSeconds: number; dueAt: Date },
): Promise<void> {
  await sql`
    insert into mail_merge_pace (id, account_id, interval_seconds, due_at)
    values (${merge.id}, ${merge.accountId}, ${merge.intervalSeconds}, ${merge.dueAt})
  `.execute(unit.sql)
}

/**
 * Makes sure that merges are looked at when these entries of them are due. Call it when the entries have their new times,
 * and after `bringForward`.
 */
export async function bringPaceForward(unit: UnitOfWork, outboxIds: readonly string[]): Promise<void> {
  if (outboxIds.length === 0) return
  await sql`
    update mail_merge_pace as pace set due_at = least(pace.due_at, next.due_at)
    from (
      select mail_merge_id, min(due_at) as due_at from outbox
      where id = any(${[...outboxIds]}::uuid[]) and is_paced and due_at is not null
      group by mail_merge_id
    ) as next
    where pace.id = next.mail_merge_id
  `.execute(unit.sql)
}

/** Deletes the paces of merges without entries. */
export async function sweepPaces(db: Db): Promise<void> {
  await sql`
    delete from mail_merge_pace as pace
    where due_at is null and not exists (select from outbox where mail_merge_id = pace.id)
  `.execute(db)
}
