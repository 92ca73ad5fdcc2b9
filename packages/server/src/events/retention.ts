import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'

const BATCH_ROWS = 2000
/** Events that a follower has not handled are kept longer, but no longer than this. */
export const UNHANDLED_DAYS_MAX = 7

/**
 * Deletes the tenant's events that are older than the retention, in batches, oldest first. Ids ascend with time, so it
 * ends at the first batch with a younger event. A follower that has a position for any tenant follows all of them: one
 * that it has not begun with keeps its events. Events before `fromId` are left to the drop of their partition, except
 * in the default partition, which is never dropped. Returns the number of deleted events.
 */
export async function deleteOldEvents(
  db: Db,
  tenantId: string,
  retentionDays: number,
  signal: AbortSignal,
  fromId = '0',
): Promise<number> {
  let total = 0
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await sql`
      with oldest as (
        (
          select id, created_at from event where tenant_id = ${tenantId} and id >= ${fromId}
          order by id limit ${BATCH_ROWS}
        ) union (
          select id, created_at from event_default where tenant_id = ${tenantId} order by id limit ${BATCH_ROWS}
        )
        order by id limit ${BATCH_ROWS}
      ), handled as (
        select min(coalesce(position.after_id, 0)) as up_to from (select distinct name from event_follower) as follower
        left join event_follower as position on position.name = follower.name and position.tenant_id = ${tenantId}
      )
      delete from event using oldest, handled
      where event.tenant_id = ${tenantId} and event.id = oldest.id
        and oldest.created_at < clock_timestamp() - make_interval(days => ${retentionDays})
        and (
          oldest.created_at < clock_timestamp() - make_interval(days => ${retentionDays + UNHANDLED_DAYS_MAX})
          or oldest.id <= coalesce(handled.up_to, oldest.id)
        )
    `.execute(db)
    total += Number(numAffectedRows)
    if (numAffectedRows < BATCH_ROWS) break
  }
  return total
}

/**
 * Empties the events of a purged account. Their ids stay, so that no reader's cursor is affected. Reads the tenant's
 * whole feed, whose length is limited by its retention.
 */
export async function emptyAccountEvents(
  db: Db,
  account: { id: string; tenantId: string },
  signal: AbortSignal,
): Promise<void> {
  let afterId: string | null = '0'
  while (afterId !== null && !signal.aborted) {
    const { rows }: { rows: { last_id: string | null }[] } = await sql<{ last_id: string | null }>`
      with page as (
        select id, account_id from event where tenant_id = ${account.tenantId} and id > ${afterId}
        order by id limit ${BATCH_ROWS}
      ), emptied as (
        update event set data = '{}' from page
        where event.tenant_id = ${account.tenantId} and event.id = page.id and page.account_id = ${account.id}
          and event.data::text <> '{}'
      )
      select max(id) as last_id from page
    `.execute(db)
    afterId = rows[0]?.last_id ?? null
  }
}
