import { type Transaction, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import { DELIVERIES_AT_ONCE, DELIVERY_MILLISECONDS_MAX } from './limits.ts'

/** Deliveries that are looked at when an endpoint fails that works otherwise. */
const OLDEST_LOOKED_AT = 1_000

/**
 * Gives up everything that waits for an endpoint. More than one statement's worth is given up soon after, by
 * `continueGivingUp`; until then nothing of the endpoint is attempted.
 */
export async function giveUpBefore(tx: Transaction<Tables>, endpointId: string): Promise<void> {
  await sql`
    insert into webhook_dispatch (endpoint_id, tenant_id, give_up_before)
    select id, tenant_id, clock_timestamp() from webhook_endpoint where id = ${endpointId}
    on conflict (endpoint_id) do update set give_up_before = excluded.give_up_before
  `.execute(tx)
  await giveUpBatch(tx, endpointId)
}

/** The dispatch state is locked. Tests are deleted, since they cannot be replayed. */
async function giveUpBatch(tx: Transaction<Tables>, endpointId: string): Promise<void> {
  await sql`
    with waiting as materialized (
      select waiting.endpoint_id, waiting.event_id, waiting.priority from webhook_delivery as waiting
      join webhook_dispatch as dispatch on dispatch.endpoint_id = waiting.endpoint_id
      where waiting.endpoint_id = ${endpointId} and waiting.due_at is not null
        and waiting.queued_at <= dispatch.give_up_before
      limit ${DELIVERIES_AT_ONCE}
    ), given_up as (
      update webhook_delivery as delivery set due_at = null, held_until = null, held_at = null
      from waiting where waiting.priority > 0
        and delivery.endpoint_id = waiting.endpoint_id and delivery.event_id = waiting.event_id
    ), deleted as (
      delete from webhook_delivery as delivery using waiting where waiting.priority = 0
        and delivery.endpoint_id = waiting.endpoint_id and delivery.event_id = waiting.event_id
    )
    update webhook_dispatch set
      give_up_before = case when (select count(*) from waiting) = ${DELIVERIES_AT_ONCE} then give_up_before end
    where endpoint_id = ${endpointId}
  `.execute(tx)
}

/** Goes on where one statement was not enough. @returns whether there is more to do */
export async function continueGivingUp(db: Db): Promise<boolean> {
  return db.transaction().execute(async tx => {
    const { rows } = await sql<{ endpointId: string }>`
      select endpoint_id as "endpointId" from webhook_dispatch where give_up_before is not null
      limit 1 for no key update skip locked
    `.execute(tx)
    for (const { endpointId } of rows) await giveUpBatch(tx, endpointId)
    return rows.length > 0
  })
}

/**
 * Gives up deliveries that have waited for too long, when their endpoint has failed, and deletes such tests. @param
 * isFailing whether it fails always
 */
export async function giveUpOld(
  tx: Transaction<Tables>,
  endpointId: string,
  isFailing: boolean,
): Promise<void> {
  await sql`
    with oldest as materialized (
      select endpoint_id, event_id, priority, queued_at from webhook_delivery
      where endpoint_id = ${endpointId} and due_at is not null
      order by event_id limit ${isFailing ? DELIVERIES_AT_ONCE : OLDEST_LOOKED_AT}
    ), old as (
      select * from oldest
      where queued_at <= clock_timestamp() - make_interval(secs => ${DELIVERY_MILLISECONDS_MAX / 1_000})
    ), deleted as (
      delete from webhook_delivery as delivery using old where old.priority = 0
        and delivery.endpoint_id = old.endpoint_id and delivery.event_id = old.event_id
    )
    update webhook_delivery as delivery set due_at = null, held_until = null, held_at = null
    from old where old.priority > 0
      and delivery.endpoint_id = old.endpoint_id and delivery.event_id = old.event_id
  `.execute(tx)
}
