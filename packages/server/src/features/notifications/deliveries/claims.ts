import { type RawBuilder, type Transaction, sql } from 'kysely'
import { plainArray } from '../../../database/plain-array.ts'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { Lease } from '../../../processes/lease.ts'
import { eventJson } from '../changes/present.ts'
import { isOwn } from './due-endpoints.ts'
import { DELIVERIES_AT_ONCE, FAILURES_UNTIL_FAILING } from './limits.ts'

/** A delivery that this process attempts. */
export interface ClaimedDelivery {
  endpointId: string
  tenantId: string
  eventId: string
  accountId: string | null
  eventType: string
  /** The event as it is posted. */
  body: string
  attempts: number
  tries: number
  /** Number of times that the row has become a replay. */
  replays: number
  isTest: boolean
  isReplay: boolean
  /** Milliseconds since 1970. */
  queuedAt: number
  isProbe: boolean
}

/** Deliveries that this process is busy with. */
export type Busy = ReadonlyArray<{ endpointId: string; eventId: string }>

export interface Claim {
  /** Endpoints that were locked for it, without endpoints that are locked elsewhere, or that may not be attempted. */
  heldIds: ReadonlySet<string>
  deliveries: ClaimedDelivery[]
}

/** An endpoint that is locked. */
interface HeldEndpoint {
  endpointId: string
  /** Number of deliveries that may be claimed. */
  count: number
  isFailing: boolean
  mayProbe: boolean
  isReleasing: boolean
  probedEventId: string
}

/**
 * Claims up to a given number of deliveries of each endpoint for this process. While it dispatches for an endpoint, no
 * other process does. A failing endpoint gives one, its deliveries in turn.
 * @param turns how many, by endpoint
 */
export async function claimDeliveries(
  db: Db,
  lease: Lease,
  { turns, busy }: { turns: ReadonlyMap<string, number>; busy: Busy },
): Promise<Claim> {
  if (turns.size === 0) return { heldIds: new Set(), deliveries: [] }
  return db.transaction().execute(async tx => {
    const held = await holdEndpoints(tx, lease, turns)
    const heldIds = new Set(held.map(({ endpointId }) => endpointId))
    if (held.length === 0) return { heldIds, deliveries: [] }
    for (const { endpointId, isReleasing } of held) if (isReleasing) await releaseDeliveries(tx, endpointId)
    // A statement of its own sees everything that was committed before the endpoints were held.
    const found = await readDeliveries(tx, held, busy)
    const claimed = found.filter((one): one is ClaimedDelivery => one.body !== null)
    const gone = found.filter(one => one.body === null)
    if (gone.length > 0) await deleteGone(tx, gone)
    await updateHeld(tx, lease, { held, found, claimed, busy })
    return { heldIds, deliveries: claimed }
  })
}

async function holdEndpoints(
  tx: Transaction<Tables>,
  lease: Lease,
  turns: ReadonlyMap<string, number>,
): Promise<HeldEndpoint[]> {
  type Row = Omit<HeldEndpoint, 'count'> & { isPaused: boolean }
  const { rows } = await sql<Row>`
    select dispatch.endpoint_id as "endpointId", failures >= ${FAILURES_UNTIL_FAILING} as "isFailing",
      coalesce(probe_at <= clock_timestamp(), true) as "mayProbe",
      coalesce(paused_until > clock_timestamp(), false) as "isPaused",
      is_releasing as "isReleasing", probed_event_id::text as "probedEventId"
    from webhook_dispatch as dispatch join webhook_endpoint as endpoint on endpoint.id = dispatch.endpoint_id
    where dispatch.endpoint_id = any(${[...turns.keys()]}::uuid[]) and endpoint.is_enabled
      and dispatch.give_up_before is null and ${isOwn(lease)}
    order by dispatch.endpoint_id for no key update of dispatch skip locked
  `.execute(tx)
  return rows.map(({ isPaused, ...row }) => ({
    ...row,
    count: isPaused ? 0 : (turns.get(row.endpointId) ?? 0),
  }))
}

/**
 * Makes deliveries due that rested while the endpoint was failing, or that were held until a change of the endpoint.
 * The next claim takes the rest that is too large for one statement.
 */
async function releaseDeliveries(tx: Transaction<Tables>, endpointId: string): Promise<void> {
  await sql`
    with released as (
      update webhook_delivery as delivery set due_at = least(queued_at, clock_timestamp()), held_until = null,
        held_at = null
      from (
        select delivery.endpoint_id, event_id from webhook_delivery as delivery
        join webhook_dispatch as dispatch on dispatch.endpoint_id = delivery.endpoint_id
        where delivery.endpoint_id = ${endpointId} and delivery.due_at > clock_timestamp()
          and (held_until is null or held_until <= clock_timestamp() or held_at <= holds_cleared_at)
        limit ${DELIVERIES_AT_ONCE}
      ) as resting
      where delivery.endpoint_id = resting.endpoint_id and delivery.event_id = resting.event_id
      returning 1
    )
    update webhook_dispatch set is_releasing = (select count(*) from released) = ${DELIVERIES_AT_ONCE}
    where endpoint_id = ${endpointId}
  `.execute(tx)
}

type Found = Omit<ClaimedDelivery, 'body'> & { body: string | null }

async function readDeliveries(
  tx: Transaction<Tables>,
  held: readonly HeldEndpoint[],
  busy: Busy,
): Promise<Found[]> {
  const { rows } = await sql<Found>`
    with busy as materialized (${busyRows(busy)}), turn as (
      select * from unnest(
        ${held.map(one => one.endpointId)}::uuid[], ${held.map(one => one.count)}::int[],
        ${held.map(one => one.isFailing)}::boolean[], ${held.map(one => one.mayProbe)}::boolean[],
        ${held.map(one => one.probedEventId)}::bigint[]
      ) as given (endpoint_id, count, is_failing, may_probe, probed_event_id)
    ), picked as (
      select turn.is_failing, next.* from turn cross join lateral (
        (${dueOf(sql`priority = 0`)})
        union all (${dueOf(sql`not turn.is_failing and priority = 1`)})
        union all (${dueOf(sql`not turn.is_failing and priority = 2`)})
        union all (${probeOf(sql`event_id > turn.probed_event_id`)})
        union all (${probeOf(sql`event_id <= turn.probed_event_id`)})
        limit turn.count
      ) as next
    )
    select picked.endpoint_id as "endpointId", picked.tenant_id as "tenantId", picked.event_id::text as "eventId",
      picked.account_id as "accountId", coalesce(test_type, event.type) as "eventType",
      coalesce(test_body, case when event.data::text <> '{}' then ${eventJson} end) as body,
      attempts, tries, replays, priority = 0 as "isTest", priority = 2 as "isReplay",
      extract(epoch from queued_at)::float8 * 1000 as "queuedAt", is_failing and priority > 0 as "isProbe"
    from picked left join event on event.tenant_id = picked.tenant_id and event.id = picked.event_id
    order by priority, due_at, picked.event_id
  `.execute(tx)
  return rows
}

function busyRows(busy: Busy) {
  return sql`
    select * from unnest(${plainArray(busy.map(one => one.endpointId))}::uuid[], ${plainArray(busy.map(one => one.eventId))}::bigint[])
      as given (endpoint_id, event_id)`
}

const isFree = sql<boolean>`
  (delivery.endpoint_id, delivery.event_id) not in (select busy.endpoint_id, busy.event_id from busy)`

/** Deliveries of `turn` that are due by themselves, the longest due first. */
function dueOf(condition: RawBuilder<unknown>) {
  return sql`
    select * from webhook_delivery as delivery
    where delivery.endpoint_id = turn.endpoint_id and due_at <= clock_timestamp() and ${condition} and ${isFree}
    order by due_at, event_id limit turn.count`
}

/** The next delivery of `turn` that tries a failing endpoint. */
function probeOf(condition: RawBuilder<unknown>) {
  return sql`
    select * from webhook_delivery as delivery
    where delivery.endpoint_id = turn.endpoint_id and turn.is_failing and turn.may_probe and priority > 0
      and due_at is not null and (held_until is null or held_until <= clock_timestamp())
      and ${condition} and ${isFree}
    order by event_id limit 1`
}

/** Deletes deliveries without content: their account was purged, or their event is past the retention. */
async function deleteGone(tx: Transaction<Tables>, gone: readonly Found[]): Promise<void> {
  const deleting = sql`
    delete from webhook_delivery as delivery using (${busyRows(gone)}) as gone
    where delivery.endpoint_id = gone.endpoint_id and delivery.event_id = gone.event_id`
  await executeUnawaited(tx, deleting)
}

/** Writes down who dispatches for the endpoints, and when they are due next. */
async function updateHeld(
  tx: Transaction<Tables>,
  lease: Lease,
  claim: { held: readonly HeldEndpoint[]; found: readonly Found[]; claimed: readonly Found[]; busy: Busy },
): Promise<void> {
  const busy = [...claim.busy, ...claim.claimed]
  const busyIds = new Set(busy.map(({ endpointId }) => endpointId))
  const found = Map.groupBy(claim.found, ({ endpointId }) => endpointId)
  const rows = claim.held.map(({ endpointId, count, isFailing }) => {
    const own = found.get(endpointId) ?? []
    return {
      endpointId,
      isServed: own.length > 0,
      // There may be more that is due now.
      isFull: count > 0 && own.length === count && !isFailing,
      isBusy: busyIds.has(endpointId),
      probed: own.find(({ isProbe }) => isProbe)?.eventId ?? null,
    }
  })
  const updating = sql`
    with busy as materialized (${busyRows(busy)})
    update webhook_dispatch as dispatch set
      owner = case when is_busy or is_full then ${lease.id}::uuid end,
      served_at = case when is_served then clock_timestamp() else served_at end,
      probed_event_id = coalesce(probed, probed_event_id),
      due_at = case
        -- What is left may be due already, even if its endpoint was not: it may have been in doubt.
        when is_full then least(due_at, clock_timestamp())
        when paused_until > clock_timestamp() then paused_until
        when failures < ${FAILURES_UNTIL_FAILING} then (${nextDueOf(sql`priority in (0, 1, 2)`)})
        -- What is under way says when it is attempted again.
        when is_busy then null
        else least((${nextDueOf(sql`priority = 0`)}), (${nextProbe}))
      end
    from unnest(
      ${rows.map(row => row.endpointId)}::uuid[], ${rows.map(row => row.isServed)}::boolean[],
      ${rows.map(row => row.isFull)}::boolean[], ${rows.map(row => row.isBusy)}::boolean[],
      ${rows.map(row => row.probed)}::bigint[]
    ) as given (endpoint_id, is_served, is_full, is_busy, probed)
    where dispatch.endpoint_id = given.endpoint_id`
  await executeUnawaited(tx, updating)
}

/** The time at which the first delivery that is not being attempted is due. */
function nextDueOf(condition: RawBuilder<unknown>) {
  return sql`
    select min(first.due_at) from (values (0), (1), (2)) as each (priority) cross join lateral (
      select delivery.due_at from webhook_delivery as delivery
      where delivery.endpoint_id = dispatch.endpoint_id and delivery.priority = each.priority
        and delivery.due_at is not null and ${isFree}
      order by delivery.due_at limit 1
    ) as first where ${condition}`
}

const nextProbe = sql`
  select greatest(dispatch.probe_at, min(coalesce(held_until, '-infinity'))) from webhook_delivery as delivery
  where delivery.endpoint_id = dispatch.endpoint_id and delivery.due_at is not null and priority > 0
  having count(*) > 0`
