import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { isLive } from '../../../processes/lease.ts'
import { type MailboxComparison, VERIFIED_HOURS } from './rules.ts'

/** The last comparison of every mailbox of the account that has messages to compare. */
export async function findComparisons(db: Db, accountId: string): Promise<MailboxComparison[]> {
  const { rows } = await sql<MailboxComparison>`
    select mailbox.id as "mailboxId", compared_at as "comparedAt", coalesce(listed, 0) as listed,
      coalesce(indexed, 0) as indexed, coalesce(missing, 0) as missing, coalesce(extra, 0) as extra,
      coalesce(changed, 0) as changed, coalesce(repaired, 0) as repaired,
      coalesce(stuck_hours, 0) as "stuckHours",
      coalesce(is_doubtful, false) or suspected_at is not null as "isDoubtful"
    from mailbox left join mailbox_comparison on mailbox_id = mailbox.id
    left join sync_cursor on sync_cursor.account_id = mailbox.account_id and sync_cursor.source = mailbox.source
    where mailbox.account_id = ${accountId} and mailbox.source is not null and not is_deleted
    order by mailbox.path, mailbox.id
  `.execute(db)
  return rows
}

/** When the account was last found equal to its provider; null if it never was. */
export async function findVerifiedAt(db: Db, accountId: string): Promise<Date | null> {
  const row = await db
    .selectFrom('account_half')
    .select('verified_at')
    .where('account_id', '=', accountId)
    .where('kind', '=', 'mail')
    .executeTakeFirst()
  return row?.verified_at ?? null
}

export interface ComparisonSchedule {
  /** Seconds until each source of the account is to be compared, by source; negative if it is due. */
  dueIn: Map<string, number>
  /** Differences that are not repaired. */
  openCount: number
  /** Whether the account is marked as differing from its provider. */
  differs: boolean
}

export async function findSchedule(db: Db, accountId: string): Promise<ComparisonSchedule> {
  const account = await sql<{ differs: boolean }>`
    select differs_since is not null as differs from account_half where account_id = ${accountId} and kind = 'mail'
  `.execute(db)
  const { rows } = await sql<{ source: string; seconds: number; open: number }>`
    select source,
      -- A time that was set in the future counts from now on: the clock was set back since.
      extract(epoch from min(due_at - greatest(clock_timestamp(), due_set_at)))::float8 as seconds,
      sum(missing + extra + changed)::int as open
    from mailbox join mailbox_comparison on mailbox_id = mailbox.id
    where mailbox.account_id = ${accountId} and source is not null and not is_deleted
    group by source
  `.execute(db)
  return {
    dueIn: new Map(rows.map(({ source, seconds }) => [source, seconds])),
    openCount: rows.reduce((sum, { open }) => sum + open, 0),
    differs: account.rows[0]?.differs ?? false,
  }
}

/** Active accounts of the installation that are known to differ from their provider. Reads only those. */
export async function measureDiffering(db: Db): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await sql<{ count: number; seconds: number }>`
    select count(*)::int as count,
      coalesce(extract(epoch from clock_timestamp() - min(differs_since)), 0)::float8 as seconds
    from account_half join account on account.id = account_id
    where differs_since is not null and kind = 'mail' and status = 'active' and deleted_at is null
  `.execute(db)
  return { count: rows[0]?.count ?? 0, oldestSeconds: Math.max(0, rows[0]?.seconds ?? 0) }
}

/**
 * Counts the accounts that living processes follow by their state, as `stateOf` finds it. Reads only those that are not
 * verified: the number of all is the one that the processes show with their heartbeats.
 */
export async function countStates(db: Db): Promise<Record<string, number>> {
  // A half has an owner only while its account is active.
  const isCounted = sql`kind = 'mail' and owner_instance is not null and differs_since is null`
  const { count: behind } = await measureDiffering(db)
  const { rows } = await sql<{ followed: number; unverified: number }>`
    with unverified as (
      select account_id from account_half where verified_at is null and ${isCounted}
      union
      -- An index serves no condition with clock_timestamp(), which changes from row to row.
      select account_id from account_half
      where verified_at <= statement_timestamp() - make_interval(hours => ${VERIFIED_HOURS}::int) and ${isCounted}
      union
      -- OFFSET 0 keeps the planner from reading all mailboxes and accounts.
      select account_id from mailbox_comparison as compared
      where (is_doubtful or compared_at is null)
        and exists (select from mailbox where id = mailbox_id and source is not null and not is_deleted offset 0)
        and exists (select from account_half where account_id = compared.account_id and ${isCounted} offset 0)
      union
      select account_id from sync_cursor as suspected
      where suspected_at is not null
        and exists (select from account_half where account_id = suspected.account_id and ${isCounted} offset 0)
    )
    select (select coalesce(sum(accounts), 0)::int from instance where ${isLive}) as followed,
      (select count(*)::int from unverified) as unverified
  `.execute(db)
  const { followed = 0, unverified = 0 } = rows[0] ?? {}
  return { verified: Math.max(0, followed - behind - unverified), behind, unverified }
}
