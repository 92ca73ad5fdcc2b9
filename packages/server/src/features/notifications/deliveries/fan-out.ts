import { EVENT_TYPES, type EventType } from '@waxwing/contract/events.ts'
import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import { sql } from 'kysely'
import type { FollowedEvent, EventSubscription } from '../../../events/follow.ts'
import { plainArray } from '../../../database/plain-array.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { compileFilters, type EventMatcher, eventFacts } from '../webhooks/match.ts'
import { DELIVERIES_AT_ONCE } from './limits.ts'

/**
 * Queues each event once for every enabled endpoint whose filters it passes. Deliveries and the position in the log are
 * one commit. Filters and endpoints are read at this moment.
 * @param onQueued called with the tenant before the commit
 */
export function deliverySubscription(onQueued: (tenantId: string) => void): EventSubscription<EventType> {
  return {
    name: 'webhooks',
    types: EVENT_TYPES,
    isWanted: tenantId => sql`exists (select from webhook_endpoint where ${isEnabledOf(tenantId)})`,
    async handle(unit, events) {
      const endpointIds = await queueEvents(unit, events)
      if (endpointIds.length === 0) return
      await wakeEndpoints(unit, { endpointIds, eventIds: events.map(({ id }) => id) })
      onQueued(unit.tenantId)
    },
  }
}

/** @returns the endpoints that are given some of them */
async function queueEvents(unit: UnitOfWork, events: readonly FollowedEvent[]): Promise<string[]> {
  const endpoints = (await listEnabledEndpoints(unit)).map(({ id, fromEventId, filters }) => ({
    id,
    fromEventId: BigInt(fromEventId),
    matcher: compileFilters(filters),
  }))
  const endpointIds = new Set<string>()
  let batch: Queued[] = []
  for (const event of events) {
    for (const { id } of endpoints.filter(passing(event))) {
      endpointIds.add(id)
      batch.push({ endpointId: id, event })
    }
    if (batch.length < DELIVERIES_AT_ONCE) continue
    await addDeliveries(unit, batch)
    batch = []
  }
  await addDeliveries(unit, batch)
  return [...endpointIds]
}

interface EnabledEndpoint {
  id: string
  filters: WebhookFilters
  fromEventId: string
}

async function listEnabledEndpoints(unit: UnitOfWork): Promise<EnabledEndpoint[]> {
  const { rows } = await sql<EnabledEndpoint>`
    select id, filters, from_event_id::text as "fromEventId" from webhook_endpoint
    where ${isEnabledOf(unit.tenantId)}
  `.execute(unit.sql)
  return rows
}

function isEnabledOf(tenantId: string) {
  return sql<boolean>`webhook_endpoint.tenant_id = ${tenantId} and is_enabled`
}

interface Queued {
  endpointId: string
  event: FollowedEvent
}

/** The endpoints that an event is for. */
function passing(
  event: FollowedEvent,
): (endpoint: { fromEventId: bigint; matcher: EventMatcher }) => boolean {
  const id = BigInt(event.id)
  const facts = eventFacts(event)
  return ({ fromEventId, matcher }) => id > fromEventId && matcher.matches(facts)
}

async function addDeliveries(unit: UnitOfWork, queued: readonly Queued[]): Promise<void> {
  if (queued.length === 0) return
  const adding = sql`
    insert into webhook_delivery (endpoint_id, event_id, tenant_id, account_id, priority)
    select endpoint_id, event_id, ${unit.tenantId}, account_id, 1
    from unnest(
      ${plainArray(queued.map(({ endpointId }) => endpointId))}::uuid[],
      ${plainArray(queued.map(({ event }) => event.id))}::bigint[],
      ${plainArray(queued.map(({ event }) => event.accountId))}::uuid[]
    ) as given (endpoint_id, event_id, account_id)
    order by event_id, endpoint_id
    on conflict do nothing`
  await executeUnawaited(unit.sql, adding)
}

/**
 * Makes endpoints due. From here to the commit they cannot be disabled: deliveries to an endpoint that is disabled by
 * now are removed, and a transaction that disables one afterwards finds them and gives them up.
 */
async function wakeEndpoints(
  unit: UnitOfWork,
  { endpointIds, eventIds }: { endpointIds: readonly string[]; eventIds: readonly string[] },
): Promise<void> {
  const waking = sql`
    insert into webhook_dispatch as dispatch (endpoint_id, tenant_id, due_at)
    select endpoint_id, ${unit.tenantId}, clock_timestamp()
    from unnest(${[...endpointIds]}::uuid[]) as given (endpoint_id) order by endpoint_id
    on conflict (endpoint_id) do update set
      due_at = least(dispatch.due_at, greatest(clock_timestamp(), dispatch.paused_until, dispatch.probe_at))`
  await executeUnawaited(unit.sql, waking)
  const removing = sql`
    delete from webhook_delivery
    where endpoint_id = any(array(
        select given.id from unnest(${[...endpointIds]}::uuid[]) as given (id)
        where not exists (select from webhook_endpoint as endpoint where endpoint.id = given.id and is_enabled)
      ))
      and event_id = any(${[...eventIds]}::bigint[]) and priority = 1 and due_at is not null`
  await executeUnawaited(unit.sql, removing)
}
