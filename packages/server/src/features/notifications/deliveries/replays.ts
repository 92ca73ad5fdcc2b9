import type { EventType } from '@waxwing/contract/events.ts'
import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import { type Transaction, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import { compileFilters, type EventMatcher, eventFacts } from '../webhooks/match.ts'
import { DELIVERIES_AT_ONCE, REPLAY_RANGE_EVENTS_MAX, REPLAYED_EVENTS_MAX } from './limits.ts'

/** Events created in it; a bound that is missing is open. */
export interface Range {
  since: Date | null
  until: Date | null
}

interface ReplayedEndpoint {
  id: string
  tenantId: string
}

const EVENTS_AT_ONCE = 2_000
/** A tenant's ids ascend with time as far as the database's clock does. Its steps are smaller than this. */
const CLOCK_STEP_SECONDS_MAX = 300

/**
 * The ids of a tenant's retained events in a range that pass the filters, oldest first. 'too_large' if they are more
 * than a replay may queue, or the range holds more events than it may.
 */
export async function matchRange(
  db: Db,
  endpoint: ReplayedEndpoint & { filters: WebhookFilters },
  range: Range,
): Promise<string[] | 'too_large'> {
  const bounds = await findBounds(db, endpoint.tenantId, range)
  if (!bounds) return []
  const matcher = compileFilters(endpoint.filters)
  const matched: string[] = []
  let after = bounds.after
  for (let read = 0; ;) {
    const events = await readEvents(db, endpoint.tenantId, { after, upTo: bounds.upTo, range })
    read += events.filter(({ isWithin }) => isWithin).length
    if (read > REPLAY_RANGE_EVENTS_MAX) return 'too_large'
    const candidates = events.filter(({ isWithin, isEmpty }) => isWithin && !isEmpty)
    matched.push(...(await matchEvents(db, endpoint.tenantId, { events: candidates, matcher })))
    if (matched.length > REPLAYED_EVENTS_MAX) return 'too_large'
    const last = events.at(-1)
    if (!last || events.length < EVENTS_AT_ONCE) return matched
    after = last.id
  }
}

/** The ids of the events that pass. The data is read only if the type and the account do not decide. */
async function matchEvents(
  db: Db,
  tenantId: string,
  { events, matcher }: { events: readonly RangeEvent[]; matcher: EventMatcher },
): Promise<string[]> {
  const judged = events.map(event => ({ ...event, passes: matcher.judge(event.type, event.accountId) }))
  const open = judged.filter(({ passes }) => passes === null)
  const data = open.length > 0 ? await readData(db, tenantId, open) : new Map<string, unknown>()
  const passing = judged.filter(
    event =>
      event.passes ??
      (data.has(event.id) && matcher.matches(eventFacts({ ...event, data: data.get(event.id) }))),
  )
  return passing.map(({ id }) => id)
}

async function readData(
  db: Db,
  tenantId: string,
  events: ReadonlyArray<{ id: string }>,
): Promise<Map<string, unknown>> {
  const { rows } = await sql<{ id: string; data: unknown }>`
    select id::text as id, data from event
    where tenant_id = ${tenantId} and event.id = any(${events.map(({ id }) => id)}::bigint[])
  `.execute(db)
  return new Map(rows.map(({ id, data }) => [id, data]))
}

/** The ids between which the events of a range are. */
async function findBounds(
  db: Db,
  tenantId: string,
  { since, until }: Range,
): Promise<{ after: string; upTo: string } | null> {
  const step = `${CLOCK_STEP_SECONDS_MAX} seconds`
  const { rows } = await sql<{ after: string | null; upTo: string | null }>`
    with recursive ends as (
      select (select id from event where tenant_id = ${tenantId} order by id limit 1) as first,
        (select id from event where tenant_id = ${tenantId} order by id desc limit 1) as last
    ), search (side, low, high, at) as (
      -- For each bound, the first event that is not before it lies in [low, high]
      select side, first, last + 1, at from ends, (values
        ('since', ${since}::timestamptz - ${step}::interval), ('until', ${until}::timestamptz + ${step}::interval)
      ) as bound (side, at) where at is not null
      union all
      select side, case when probe.created_at < at then probe.id + 1 else low end,
        case when probe.created_at < at then high else low + (high - low) / 2 end, at
      from search left join lateral (
        select id, created_at from event
        where tenant_id = ${tenantId} and id >= low + (high - low) / 2 and id < high order by id limit 1
      ) as probe on true where low < high
    )
    select coalesce((select low from search where side = 'since' and low >= high limit 1), first) - 1 as after,
      coalesce((select low from search where side = 'until' and low >= high limit 1), last + 1) - 1 as "upTo"
    from ends where first is not null
  `.execute(db)
  const { after = null, upTo = null } = rows[0] ?? {}
  return after === null || upTo === null ? null : { after, upTo }
}

interface RangeEvent {
  id: string
  type: EventType
  accountId: string | null
  isWithin: boolean
  isEmpty: boolean
}

async function readEvents(
  db: Db,
  tenantId: string,
  { after, upTo, range }: { after: string; upTo: string; range: Range },
): Promise<RangeEvent[]> {
  const { rows } = await sql<RangeEvent>`
    select event.id::text as id, type, account_id as "accountId", ${within(range)} as "isWithin",
      data::text = '{}' as "isEmpty"
    from event where tenant_id = ${tenantId} and event.id > ${after} and event.id <= ${upTo}
    order by event.id limit ${EVENTS_AT_ONCE}
  `.execute(db)
  return rows
}

function within({ since, until }: Range) {
  return sql<boolean>`(${since === null ? sql`true` : sql`event.created_at >= ${since}`}
    and ${until === null ? sql`true` : sql`event.created_at < ${until}`})`
}

export interface AddedReplays {
  /** Number of deliveries that are queued now. */
  added: number
  /** Events of which the endpoint has a delivery: it waits, or was given up. */
  presentIds: string[]
}

/** Queues events for an endpoint, except those of which it has a delivery. Events that are gone meanwhile are left out. */
export async function addReplays(
  tx: Transaction<Tables>,
  { id, tenantId }: ReplayedEndpoint,
  eventIds: readonly string[],
): Promise<AddedReplays> {
  const all: AddedReplays = { added: 0, presentIds: [] }
  for (let at = 0; at < eventIds.length; at += DELIVERIES_AT_ONCE) {
    const { rows } = await sql<AddedReplays>`
      with wanted as materialized (
        select event.id, event.account_id from event
        where event.tenant_id = ${tenantId} and event.data::text <> '{}'
          and event.id = any(${eventIds.slice(at, at + DELIVERIES_AT_ONCE)}::bigint[])
      ), added as (
        insert into webhook_delivery (endpoint_id, event_id, tenant_id, account_id, priority)
        select ${id}, wanted.id, ${tenantId}, wanted.account_id, 2 from wanted order by wanted.id
        on conflict do nothing returning event_id
      )
      select (select count(*) from added)::int as added,
        array(select wanted.id::text from wanted where wanted.id not in (select event_id from added) order by wanted.id)
          as "presentIds"
    `.execute(tx)
    all.added += rows[0]?.added ?? 0
    all.presentIds.push(...(rows[0]?.presentIds ?? []))
  }
  return all
}

const isGivenUp = sql<boolean>`(delivery.due_at is null or exists (
  select from webhook_dispatch as dispatch
  where dispatch.endpoint_id = delivery.endpoint_id and delivery.queued_at <= dispatch.give_up_before
))`

/** The deliveries that an endpoint gave up on and that can be replayed. */
function failedDeliveries({ id, tenantId }: ReplayedEndpoint, range: Range) {
  return sql`
    from webhook_delivery as delivery
    join event on event.tenant_id = ${tenantId} and event.id = delivery.event_id
    where delivery.endpoint_id = ${id} and delivery.priority > 0 and event.data::text <> '{}' and ${within(range)}
      and ${isGivenUp}`
}

export async function countFailed(db: Db, endpoint: ReplayedEndpoint, range: Range): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count ${failedDeliveries(endpoint, range)}
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** The events that the endpoint gave up on, or 'too_large' if they are more than a replay may queue. */
export async function findFailed(
  db: Db,
  endpoint: ReplayedEndpoint,
  range: Range,
): Promise<string[] | 'too_large'> {
  const { rows } = await sql<{ eventId: string }>`
    select delivery.event_id::text as "eventId" ${failedDeliveries(endpoint, range)}
    order by delivery.event_id limit ${REPLAYED_EVENTS_MAX + 1}
  `.execute(db)
  return rows.length > REPLAYED_EVENTS_MAX ? 'too_large' : rows.map(({ eventId }) => eventId)
}

/**
 * Queues deliveries again that were given up: each becomes a delivery of its own. The dispatch state of the endpoint is
 * locked, so nothing of it is claimed, recorded or given up at the same time.
 * @returns how many
 */
export async function requeueGivenUp(
  tx: Transaction<Tables>,
  { id }: ReplayedEndpoint,
  eventIds: readonly string[],
): Promise<number> {
  let requeued = 0
  for (let at = 0; at < eventIds.length; at += DELIVERIES_AT_ONCE) {
    const { numAffectedRows = 0n } = await sql`
      update webhook_delivery as delivery set priority = 2, queued_at = clock_timestamp(), due_at = clock_timestamp(),
        held_until = null, held_at = null, attempts = 0, tries = 0, replays = replays + 1
      from (
        select endpoint_id, event_id from webhook_delivery as delivery
        where endpoint_id = ${id} and event_id = any(${eventIds.slice(at, at + DELIVERIES_AT_ONCE)}::bigint[])
          and ${isGivenUp}
        order by event_id for no key update
      ) as given_up
      where delivery.endpoint_id = given_up.endpoint_id and delivery.event_id = given_up.event_id
    `.execute(tx)
    requeued += Number(numAffectedRows)
  }
  return requeued
}

/** Whether an event can be replayed: it is retained, no test, and has its content. */
export async function isReplayable(db: Db, tenantId: string, eventId: string): Promise<boolean> {
  const { rows } = await sql`
    select from event where tenant_id = ${tenantId} and id = ${eventId} and data::text <> '{}'
  `.execute(db)
  return rows.length > 0
}
