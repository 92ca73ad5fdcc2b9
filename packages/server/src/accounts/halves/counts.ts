import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { ALL_KINDS } from './kind.ts'

const CONDITIONS = { behind: sql`behind_since is not null`, problem: sql`problem is not null` }

/** Counts halves of active accounts by kind that are not caught up, or that have a problem. Reads only those. */
export async function countHalves(db: Db, having: keyof typeof CONDITIONS): Promise<Record<string, number>> {
  const { rows } = await sql<{ kind: string; count: number }>`
    select kind, count(*)::int as count from account_half
    join account on account.id = account_id
    where ${CONDITIONS[having]} and status = 'active' and deleted_at is null group by kind
  `.execute(db)
  return Object.fromEntries([
    ...ALL_KINDS.map(kind => [kind, 0] as const),
    ...rows.map(({ kind, count }) => [kind, count] as const),
  ])
}
