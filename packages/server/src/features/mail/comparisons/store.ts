import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { type MailboxComparison } from './rules.ts'

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
