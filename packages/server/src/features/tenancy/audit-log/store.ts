import { type RawBuilder, sql } from 'kysely'
import type { ActorType } from '@waxwing/contract/tenancy/audit-log.ts'
import { rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { firstIdAt, timeOfId } from '../../../kit/ids.ts'
import { columns, type StoredRow } from './entry.ts'

export interface AuditFilter {
  tenantId: string
  actorType?: ActorType | undefined
  actorId?: string | undefined
  /** Exact, or a resource with a dot at its end. */
  action?: string | undefined
  accountId?: string | undefined
  outcome?: 'success' | 'failure' | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** The rows after `beforeId`, newest first, including rows that are not chained yet. */
export async function listRows(
  db: Db,
  filter: AuditFilter,
  beforeId: string | null,
  limit: number,
): Promise<StoredRow[]> {
  const matches = conditionsOf(filter, beforeId)
  const read = rowsToRead(limit)
  const { rows } = await sql<StoredRow>`
    select * from (
      (select ${columns} from audit_open where ${matches} order by id desc limit ${read})
      union all
      (select ${columns} from audit_entry where ${matches} order by id desc limit ${read})
    ) as entry order by id desc limit ${read}
  `.execute(db)
  return rows
}

/** Conditions only of the filters that are given, so that each has its index. The id holds the time. */
function conditionsOf(filter: AuditFilter, beforeId: string | null): RawBuilder<unknown> {
  const { tenantId, actorType, actorId, action, accountId, outcome, from, to } = filter
  const conditions: Array<RawBuilder<unknown>> = [sql`tenant_id = ${tenantId}`]
  if (actorType) conditions.push(sql`actor_type = ${actorType}`)
  if (actorId) conditions.push(sql`actor_id = ${actorId}`)
  if (action?.endsWith('.')) conditions.push(sql`split_part(action, '.', 1) = ${action.slice(0, -1)}`)
  else if (action) conditions.push(sql`action = ${action}`)
  if (accountId) conditions.push(sql`targets ->> 'accountId' = ${accountId}`)
  if (outcome) conditions.push(outcome === 'success' ? sql`status / 100 = 2` : sql`status / 100 <> 2`)
  if (from) conditions.push(sql`id >= ${firstIdAt(from.getTime())}`)
  if (to) conditions.push(sql`id < ${firstIdAt(to.getTime())}`)
  if (beforeId) conditions.push(sql`id < ${beforeId}`)
  return sql.join(conditions, sql` and `)
}

/** A condition for the pulse: whether rows wait to be chained. */
export const hasOpenRows = sql<boolean>`exists (select from audit_open)`

/** Seconds that the oldest row of the whole installation has waited to be chained; 0 if none waits. */
export async function measureWait(db: Db, now: number): Promise<number> {
  const { rows } = await sql<{ id: string }>`select id from audit_open order by id limit 1`.execute(db)
  const [oldest] = rows
  return oldest ? Math.max(0, (now - (timeOfId(oldest.id) ?? 0)) / 1000) : 0
}

/** Number of rows of a tenant that wait to be chained. */
export async function countOpenRows(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from audit_open where tenant_id = ${tenantId}
  `.execute(db)
  return rows[0]?.count ?? 0
}
