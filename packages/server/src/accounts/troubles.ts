import { isUnowned, unownedTenants } from './unowned.ts'
import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import { isLive } from '../processes/lease.ts'

/** An account that takes longer than this to catch up lags. This includes its first sync. */
const LAG_SECONDS = 600

/**
 * The troubles of an active account: no process follows it (`unfollowed`), every attempt fails (`failing`), or it has
 * not been caught up for ten minutes (`lagging`).
 */
export const TROUBLES = ['unfollowed', 'failing', 'lagging'] as const
export type Trouble = (typeof TROUBLES)[number]

/** The number of accounts with a trouble, and the time for which the oldest of them has had it. */
export interface Troubled {
  count: number
  oldestSeconds: number
}

/** Since when the mail of an account has been behind. An account that nobody follows is behind with every half. */
const mailBehindSince = sql`(
  select behind_since from account_half where account_half.account_id = account.id and kind = 'mail')`

/** Counts active accounts in trouble, in the whole installation. Reads only those, however many accounts there are. */
export async function measureTroubles(db: Db): Promise<Record<Trouble, Troubled>> {
  const { rows } = await sql<{ trouble: Trouble; count: number; seconds: number }>`
    with recursive unowned (tenant_id) as (${unownedTenants})
    select trouble, count(*)::int as count,
      greatest(0, extract(epoch from clock_timestamp() - min(since)))::float8 as seconds
    from (
      select tenant.id as tenant_id, 'unfollowed' as trouble, since
      from unowned join tenant on tenant.id = unowned.tenant_id
      -- OFFSET 0 keeps the planner from reading all unowned accounts of every tenant.
      cross join lateral (
        select coalesce(${mailBehindSince}, updated_at) as since
        from account where account.tenant_id = tenant.id and ${isUnowned} offset 0
      ) as account
      where tenant.suspended_at is null
      union all
      select tenant_id, 'unfollowed', coalesce(${mailBehindSince}, greatest(started_at, heartbeat_until))
      from instance join account on owner_instance = instance.id
      where not ${isLive} and status = 'active' and deleted_at is null
      union all
      select tenant_id, case when min(failing_since) is null then 'lagging' else 'failing' end,
        coalesce(min(failing_since), min(behind_since))
      from account_half join instance on owner_instance = instance.id
      where behind_since is not null and ${isLive}
        and (failing_since is not null
          or behind_since < clock_timestamp() - make_interval(secs => ${LAG_SECONDS}))
      group by account_id, tenant_id
    ) as troubled join tenant on tenant.id = tenant_id
    where suspended_at is null group by trouble
  `.execute(db)
  const found = new Map(
    rows.map(({ trouble, count, seconds }) => [trouble, { count, oldestSeconds: seconds }]),
  )
  const of = (trouble: Trouble) => found.get(trouble) ?? { count: 0, oldestSeconds: 0 }
  return { unfollowed: of('unfollowed'), failing: of('failing'), lagging: of('lagging') }
}
