import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { VERIFIED_HOURS } from './rules.ts'
import { followedCount } from '../../../processes/list-instances.ts'

/** Time at which the account was last found equal to its provider; null if it never was. */
export async function findVerifiedAt(db: Db, accountId: string): Promise<Date | null> {
  const row = await db
    .selectFrom('account_half')
    .select('verified_at')
    .where('account_id', '=', accountId)
    .where('kind', '=', 'mail')
    .executeTakeFirst()
  return row?.verified_at ?? null
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
 * Counts the accounts that living processes follow by their state, as `stateOf` finds it. Reads only the accounts that
 * are not verified: the total is the number that the processes report with their heartbeats.
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
    select ${followedCount} as followed,
      (select count(*)::int from unverified) as unverified
  `.execute(db)
  const { followed = 0, unverified = 0 } = rows[0] ?? {}
  return { verified: Math.max(0, followed - behind - unverified), behind, unverified }
}
