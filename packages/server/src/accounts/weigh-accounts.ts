import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/pool.ts'

/**
 * Weighs accounts again, which may have grown since they were claimed.
 * @param weight the work that a row of `account` makes
 */
export async function weighAccounts(
  db: Db,
  accountIds: readonly string[],
  weight: RawBuilder<number>,
): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; weight: number }>`
    select id, ${weight} as weight from account where id = any(${[...accountIds]}::uuid[])
  `.execute(db)
  return new Map(rows.map(row => [row.id, row.weight]))
}
