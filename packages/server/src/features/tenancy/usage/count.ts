import { type RawBuilder, sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/**
 * The subjects that are counted for a tenant and a day in UTC: calls by the scope of their operation, messages that
 * were sent, webhook deliveries that were acknowledged, and calls of language models.
 */
export type Counted = 'read' | 'write' | 'send' | 'admin' | 'sends' | 'webhook_deliveries' | 'ai_calls'

/**
 * Adds to a count of today within the transaction, so that it commits with the transaction and is exact. Waits for no
 * other count.
 */
export async function countUsage(unit: UnitOfWork, what: Counted, count: number): Promise<void> {
  if (count === 0) return
  await sql`
    insert into usage_count (tenant_id, day, what, count)
    values (${unit.tenantId}, (clock_timestamp() at time zone 'UTC')::date, ${what}, ${count})
  `.execute(unit.sql)
}

/**
 * Like `countUsage`, as a part of another statement, for its `with`.
 * @param rows a query with one row for each thing that is counted: its `tenant_id`, and its time, `counted_at`
 */
export function countingUsage(what: Counted, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into usage_count (tenant_id, day, what, count)
    select tenant_id, (counted_at at time zone 'UTC')::date as day, ${what}, count(*)::int
    from (${rows}) as counted group by tenant_id, day`
}
