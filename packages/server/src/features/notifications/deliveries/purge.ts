import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'

const BATCH_ROWS = 2000

/**
 * Deletes the waiting deliveries of an account, its test events, and the answers of receivers to its events. Reads the
 * deliveries of the tenant's endpoints in pages.
 */
export async function purgeDeliveries(db: Db, accountId: string, signal: AbortSignal): Promise<void> {
  const { rows } = await sql<{ endpoint_id: string }>`
    select endpoint_id from webhook_dispatch where tenant_id = (select tenant_id from account where id = ${accountId})
  `.execute(db)
  for (const { endpoint_id: endpointId } of rows) {
    await sql`delete from webhook_attempt where endpoint_id = ${endpointId} and account_id = ${accountId}`.execute(
      db,
    )
    let after: string | null = '0'
    while (after !== null && !signal.aborted) after = await purgePage(db, endpointId, accountId, after)
  }
}

async function purgePage(
  db: Db,
  endpointId: string,
  accountId: string,
  after: string,
): Promise<string | null> {
  const { rows } = await sql<{ last_id: string | null }>`
    with page as (
      select event_id, account_id from webhook_delivery where endpoint_id = ${endpointId} and event_id > ${after}
      order by event_id limit ${BATCH_ROWS}
    ), purged as (
      delete from webhook_delivery using page
      where webhook_delivery.endpoint_id = ${endpointId} and webhook_delivery.event_id = page.event_id
        and page.account_id = ${accountId}
    )
    select max(event_id) as last_id from page
  `.execute(db)
  return rows[0]?.last_id ?? null
}
