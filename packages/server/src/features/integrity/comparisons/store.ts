import { sql } from 'kysely'
import type { HalfKind } from '../../../accounts/halves/kind.ts'
import type { Db } from '../../../database/pool.ts'
import { VERIFIED_HOURS } from './rules.ts'
import { followedCount } from '../../../processes/list-instances.ts'

/** Time at which these kinds of data of the account were last found equal to the provider; null if one never was. */
export async function findVerifiedAt(
  db: Db,
  accountId: string,
  kinds: readonly HalfKind[],
): Promise<Date | null> {
  const { rows } = await sql<{ verifiedAt: Date | null }>`
    select case when count(verified_at) = ${kinds.length}::int then min(verified_at) end as "verifiedAt"
    from account_half where account_id = ${accountId} and kind = any(${[...kinds]}::text[])
  `.execute(db)
  return rows[0]?.verifiedAt ?? null
}

/** Halves that are known to differ from their provider. A half that is switched off is not compared, and does not count. */
const DIFFERING = sql.raw(
  `differs_since is not null and (kind = 'mail' or runtime_state is distinct from 'stopped')`,
)

/** Active accounts of the installation that are known to differ from their provider. Reads only those. */
export async function measureDiffering(db: Db): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await sql<{ count: number; seconds: number }>`
    select count(distinct account_id)::int as count,
      coalesce(extract(epoch from clock_timestamp() - min(differs_since)), 0)::float8 as seconds
    from account_half join account on account.id = account_id
    where ${DIFFERING} and status = 'active' and deleted_at is null
  `.execute(db)
  return { count: rows[0]?.count ?? 0, oldestSeconds: Math.max(0, rows[0]?.seconds ?? 0) }
}

/**
 * Counts the accounts that living processes follow by their state, as `stateOf` finds it. Reads only the accounts that
 * are not verified: the total is the number that the processes report with their heartbeats.
 */
export async function countStates(db: Db): Promise<Record<string, number>> {
  // A half has an owner only while its account is active.
  const isOwned = sql`owner_instance is not null and differs_since is null`
  const isCounted = sql`kind = 'mail' and ${isOwned}`
  // Calendars and contacts that are switched off are not compared.
  const isOn = sql`${isOwned} and runtime_state is distinct from 'stopped'`
  const isOfContacts = sql`kind = 'contacts' and ${isOn}`
  const isOfCalendars = sql`kind = 'calendar' and ${isOn}`
  const isOld = sql`verified_at <= statement_timestamp() - make_interval(hours => ${VERIFIED_HOURS}::int)`
  const { count: behind } = await measureDiffering(db)
  const { rows } = await sql<{ followed: number; unverified: number }>`
    with unverified as (
      select account_id from account_half where verified_at is null and ${isCounted}
      union
      -- An index serves no condition with clock_timestamp(), which changes from row to row.
      select account_id from account_half where ${isOld} and ${isCounted}
      union
      select account_id from account_half where verified_at is null and ${isOfContacts}
      union
      select account_id from account_half where ${isOld} and ${isOfContacts}
      union
      select account_id from account_half where verified_at is null and ${isOfCalendars}
      union
      select account_id from account_half where ${isOld} and ${isOfCalendars}
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
      (select count(*)::int from unverified where not exists (
        select from account_half as other
        where other.account_id = unverified.account_id and ${DIFFERING})) as unverified
  `.execute(db)
  const { followed = 0, unverified = 0 } = rows[0] ?? {}
  return { verified: Math.max(0, followed - behind - unverified), behind, unverified }
}
