import { sql } from 'kysely'
import { isUnowned, unownedTenants } from './unowned.ts'
import type { Db } from '../database/pool.ts'
import { isLive } from '../processes/lease.ts'

/** Unowned accounts that are counted. Where there are more, every process has room for many. */
const UNOWNED_COUNTED_MAX = 10_000

/** Load of the living processes, as of their last heartbeats. */
export interface Spread {
  /** Weights of the other processes that follow accounts, by id. */
  others: ReadonlyMap<string, number>
  /** Accounts that nobody follows. Each is taken to have the weight 1. */
  unowned: number
}

export async function readSpread(db: Db, instanceId: string): Promise<Spread> {
  const { rows } = await sql<{ others: Record<string, number>; unowned: number }>`
    with recursive unowned (tenant_id) as (${unownedTenants})
    select
      (select coalesce(json_object_agg(id, weight), '{}') from instance
        where weight is not null and id <> ${instanceId} and ${isLive}) as others,
      (select count(*)::int from (
        select from unowned join tenant on tenant.id = unowned.tenant_id
        cross join lateral (
          select from account where account.tenant_id = tenant.id and ${isUnowned} limit ${UNOWNED_COUNTED_MAX}
        ) as claimable
        where tenant.suspended_at is null limit ${UNOWNED_COUNTED_MAX}
      ) as counted) as unowned
  `.execute(db)
  const { others = {}, unowned = 0 } = rows[0] ?? {}
  return { others: new Map(Object.entries(others)), unowned }
}
