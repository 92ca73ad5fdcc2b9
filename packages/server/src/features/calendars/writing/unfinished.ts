import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'

export interface UnfinishedWrites {
  count: number
  /** The age of the oldest one; 0: there is none. */
  oldestSeconds: number
}

/** Measures the writes of active accounts that nobody is doing any more, so that the follower has to finish them. */
export async function measureUnfinished(db: Db): Promise<UnfinishedWrites> {
  const { rows } = await sql<UnfinishedWrites>`
    select count(*)::int as count,
      coalesce(extract(epoch from clock_timestamp() - min(calendar_intent.created_at)), 0)::float8 as "oldestSeconds"
    from calendar_intent join account on account.id = account_id
    where leased_until < clock_timestamp() and status = 'active' and deleted_at is null
  `.execute(db)
  return rows[0] ?? { count: 0, oldestSeconds: 0 }
}
