import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { isLive } from './store.ts'

/** An account that takes longer to catch up lags: its first sync, too. */
const LAG_SECONDS = 600

/**
 * What an active account can lack: a process that follows it (`unfollowed`); success, since every attempt fails
 * (`failing`); or being caught up, for ten minutes (`lagging`).
 */
export const TROUBLES = ['unfollowed', 'failing', 'lagging'] as const
export type Trouble = (typeof TROUBLES)[number]

/** How many accounts have a trouble, and for how long the one that has had it longest. */
export interface Troubled {
  count: number
  oldestSeconds: number
}

const isToBeFollowed = sql<boolean>`status = 'active' and deleted_at is null`

/** Active accounts of the whole installation that are not well. Reads only those, however many there are. */
export async function measureTroubles(db: Db): Promise<Record<Trouble, Troubled>> {
  const { rows } = await sql<{ trouble: Trouble; count: number; seconds: number }>`
    select trouble, count(*)::int as count,
      greatest(0, extract(epoch from clock_timestamp() - min(since)))::float8 as seconds
    from (
      select tenant_id, 'unfollowed' as trouble, coalesce(behind_since, updated_at) as since
      from account where owner_instance is null and ${isToBeFollowed}
      union all
      select tenant_id, 'unfollowed', coalesce(behind_since, greatest(started_at, heartbeat_until))
      from instance join account on owner_instance = instance.id where not ${isLive} and ${isToBeFollowed}
      union all
      select tenant_id, case when failing_since is null then 'lagging' else 'failing' end,
        coalesce(failing_since, behind_since)
      from account join instance on owner_instance = instance.id
      where behind_since is not null and ${isToBeFollowed} and ${isLive}
        and (failing_since is not null
          or behind_since < clock_timestamp() - make_interval(secs => ${LAG_SECONDS}))
    ) as troubled join tenant on tenant.id = tenant_id
    where suspended_at is null group by trouble
  `.execute(db)
  const found = new Map(
    rows.map(({ trouble, count, seconds }) => [trouble, { count, oldestSeconds: seconds }]),
  )
  const of = (trouble: Trouble) => found.get(trouble) ?? { count: 0, oldestSeconds: 0 }
  return { unfollowed: of('unfollowed'), failing: of('failing'), lagging: of('lagging') }
}

/** Whether any process follows accounts now. */
export async function hasFollowers(db: Db): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from instance where ${isLive}) as has`.execute(db)
  return rows[0]?.has ?? false
}
