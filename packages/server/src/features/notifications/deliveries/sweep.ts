import {
  ATTEMPTS_SHOWN_DAYS,
  ATTEMPTS_SHOWN_MAX,
} from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { firstIdAt } from '../../../kit/ids.ts'

const ENDPOINTS_AT_ONCE = 100
const ROWS_AT_ONCE = 5_000
const MILLISECONDS_PER_DAY = 86_400_000

/**
 * Deletes rows that can no longer be read or replayed: attempts that are too old or too many, deliveries whose events
 * are past the retention, and all rows of deleted endpoints.
 */
export async function sweepDeliveries(db: Db, signal: AbortSignal): Promise<void> {
  const oldestId = firstIdAt(Date.now() - ATTEMPTS_SHOWN_DAYS * MILLISECONDS_PER_DAY)
  for (let after: string | null = '00000000-0000-0000-0000-000000000000'; after !== null;) {
    if (signal.aborted) return
    const page: { endpointId: string; isDeleted: boolean }[] = await listEndpoints(db, after)
    const ids = page.map(({ endpointId }) => endpointId)
    const deletedIds = page.flatMap(({ endpointId, isDeleted }) => (isDeleted ? [endpointId] : []))
    await deleteAll(signal, () => deleteAttempts(db, ids, sql`id < ${oldestId}`))
    await deleteAll(signal, () => deleteAttempts(db, ids, isSurplus))
    await deleteAll(signal, () => deleteDeliveries(db, ids, isPastRetention))
    await deleteAll(signal, () => deleteAttempts(db, deletedIds, sql`true`))
    await deleteAll(signal, () => deleteDeliveries(db, deletedIds, sql`true`))
    if (!signal.aborted) await forgetDeleted(db, deletedIds)
    after = ids.at(-1) ?? null
  }
}

async function listEndpoints(db: Db, after: string): Promise<{ endpointId: string; isDeleted: boolean }[]> {
  const { rows } = await sql<{ endpointId: string; isDeleted: boolean }>`
    select endpoint_id as "endpointId", endpoint.id is null as "isDeleted"
    from webhook_dispatch left join webhook_endpoint as endpoint on endpoint.id = endpoint_id
    where endpoint_id > ${after} order by endpoint_id limit ${ENDPOINTS_AT_ONCE}
  `.execute(db)
  return rows
}

async function deleteAll(signal: AbortSignal, deleteBatch: () => Promise<bigint>): Promise<void> {
  while (!signal.aborted && (await deleteBatch()) > 0n);
}

/** Whether an attempt is too old to be shown: the log shows newer ones in its place. */
const isSurplus = sql`id <= (
  select newer.id from webhook_attempt as newer where newer.endpoint_id = each.endpoint_id
  order by newer.id desc offset ${ATTEMPTS_SHOWN_MAX} limit 1
)`

/** Ids ascend with time, so events before the oldest retained one are gone. */
const isPastRetention = sql`priority > 0 and event_id < coalesce((
  select event.id from event where event.tenant_id = each.tenant_id order by event.id limit 1
), 9223372036854775807)`

async function deleteAttempts(
  db: Db,
  endpointIds: readonly string[],
  condition: RawBuilder<unknown>,
): Promise<bigint> {
  if (endpointIds.length === 0) return 0n
  const { numAffectedRows = 0n } = await sql`
    delete from webhook_attempt as attempt using (
      select surplus.endpoint_id, surplus.id from unnest(${[...endpointIds]}::uuid[]) as each (endpoint_id)
      cross join lateral (
        select endpoint_id, id from webhook_attempt
        where webhook_attempt.endpoint_id = each.endpoint_id and ${condition} order by id limit ${ROWS_AT_ONCE}
      ) as surplus limit ${ROWS_AT_ONCE}
    ) as old
    where attempt.endpoint_id = old.endpoint_id and attempt.id = old.id
  `.execute(db)
  return numAffectedRows
}

async function deleteDeliveries(
  db: Db,
  endpointIds: readonly string[],
  condition: RawBuilder<unknown>,
): Promise<bigint> {
  if (endpointIds.length === 0) return 0n
  const { numAffectedRows = 0n } = await sql`
    delete from webhook_delivery as delivery using (
      select surplus.endpoint_id, surplus.event_id from webhook_dispatch as each
      cross join lateral (
        select endpoint_id, event_id from webhook_delivery
        where webhook_delivery.endpoint_id = each.endpoint_id and ${condition} order by event_id limit ${ROWS_AT_ONCE}
      ) as surplus where each.endpoint_id = any(${[...endpointIds]}::uuid[]) limit ${ROWS_AT_ONCE}
    ) as old
    where delivery.endpoint_id = old.endpoint_id and delivery.event_id = old.event_id
  `.execute(db)
  return numAffectedRows
}

/** The state of a deleted endpoint goes last: it is how its rows are found. */
async function forgetDeleted(db: Db, endpointIds: readonly string[]): Promise<void> {
  if (endpointIds.length === 0) return
  await sql`delete from webhook_dispatch where endpoint_id = any(${[...endpointIds]}::uuid[])`.execute(db)
}
