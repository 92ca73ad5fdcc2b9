import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'

/**
 * Counts bytes that are stored for a tenant. False if its plan has no room for that many; the caller then stores nothing.
 * Last in a transaction, since everything that is stored for the tenant waits for its row.
 */
export async function takeRoom(tx: Db, tenantId: string, bytes: number): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    with allowed as (
      select plan.storage_bytes as bytes from tenant left join plan on plan.id = tenant.plan_id
      where tenant.id = ${tenantId}
    )
    insert into tenant_storage as used (tenant_id, bytes)
    select ${tenantId}, ${bytes} from allowed where coalesce(${bytes} <= allowed.bytes, true)
    on conflict (tenant_id) do update set bytes = used.bytes + excluded.bytes
    where coalesce(used.bytes + excluded.bytes <= (select bytes from allowed), true)
  `.execute(tx)
  return numAffectedRows > 0n
}

/** Bytes that a row counts for a tenant. */
export interface CountedBytes {
  tenant_id: string
  bytes: string
}

/**
 * Gives back the bytes of rows that were deleted. A separate statement, so that it sees the counts of the transactions
 * that held these rows.
 */
export async function giveRoom(tx: Db, gone: readonly CountedBytes[]): Promise<void> {
  await sql`
    with freed as (
      select tenant_id, sum(bytes) as bytes
      from json_to_recordset(${JSON.stringify(gone)}::json) as gone (tenant_id uuid, bytes bigint)
      group by tenant_id having sum(bytes) > 0
    ), held as (
      -- Always in this order, to avoid deadlocks.
      select tenant_id from tenant_storage where tenant_id in (select tenant_id from freed)
      order by tenant_id for update
    )
    update tenant_storage as used set bytes = used.bytes - freed.bytes
    from freed join held using (tenant_id) where used.tenant_id = freed.tenant_id
  `.execute(tx)
}
