import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import { isLive } from './lease.ts'

/** A process, as the others see it. */
export interface ListedInstance {
  id: string
  host: string | null
  version: string | null
  roles: string[]
  started_at: Date
  /** Null for a release that does not write it. */
  heartbeat_at: Date | null
  heartbeat_seconds: number | null
  is_live: boolean
  /** The number of accounts that the tables assign to it. */
  accounts: number
  /** The work that these make, as of its last heartbeat; null: it follows none. */
  weight: number | null
}

/** Lists the processes that live, and those whose accounts were not taken over yet, the oldest first. */
export async function listInstances(db: Db): Promise<ListedInstance[]> {
  const { rows } = await sql<ListedInstance>`
    select id, host, version, roles, started_at, heartbeat_at,
      extract(epoch from clock_timestamp() - heartbeat_at)::float8 as heartbeat_seconds,
      ${isLive} as is_live, owned.accounts, weight
    from instance
    cross join lateral (select count(*)::int as accounts from account where owner_instance = instance.id) as owned
    where ${isLive} or owned.accounts > 0
    order by started_at, id
  `.execute(db)
  return rows
}
