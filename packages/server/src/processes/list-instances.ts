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

/** Counts the processes that live. */
export async function countLive(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from instance where ${isLive}
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Whether any process with the role lives. */
export async function hasRole(db: Db, role: string): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from instance where ${role} = any(roles) and ${isLive}) as has`.execute(db)
  return rows[0]?.has ?? false
}

/** The accounts that living processes follow, as they show with their heartbeats. */
export const followedCount = sql<number>`(select coalesce(sum(accounts), 0)::int from instance where ${isLive})`
