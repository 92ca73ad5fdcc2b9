import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'

/** An account with as many messages makes as much work as two empty ones. */
const MESSAGES_OF_WEIGHT_2 = 10_000

/** The work that a row of `account` makes: 1 if it is empty, 2 with 10,000 messages, 7.7 with a million. */
export const weight = sql<number>`(
  select 1 + ln(1 + coalesce(sum(total_count), 0)::float8 / ${MESSAGES_OF_WEIGHT_2}) / ln(2::float8)
  from mailbox where mailbox.account_id = account.id
)`

/** Weighs accounts again, which may have grown since they were claimed. */
export async function weighAccounts(db: Db, accountIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; weight: number }>`
    select id, ${weight} as weight from account where id = any(${[...accountIds]}::uuid[])
  `.execute(db)
  return new Map(rows.map(row => [row.id, row.weight]))
}
