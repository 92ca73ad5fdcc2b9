import { type Transaction, sql } from 'kysely'
import { plainArray } from '../../../database/plain-array.ts'
import type { Tables } from '../../../database/tables.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import { countingUsage } from '../../tenancy/usage/count.ts'
import type { AttemptResult } from './attempt-result.ts'
import { type DeliveryPlan, type EndpointHealth, isFailing, type OutcomePlan } from './rules.ts'

export interface PlannedDelivery {
  result: AttemptResult
  plan: DeliveryPlan
}

export interface PlannedEndpoint {
  endpointId: string
  health: EndpointHealth
  isRecovered: boolean
  disabledReason: OutcomePlan['disabledReason']
  hasFailed: boolean
  /** Time at which the first of the failed deliveries is due again. */
  dueAt: number | null
}

/**
 * Acknowledged deliveries are deleted, and so are tests with any outcome. A failure counts only for the delivery that
 * was attempted, not for a replay that has replaced it.
 * @returns failures whose deliveries are not there any more
 */
export async function recordDeliveries(
  tx: Transaction<Tables>,
  all: readonly PlannedDelivery[],
): Promise<ReadonlySet<AttemptResult>> {
  const isOver = ({ result, plan }: PlannedDelivery) => plan.kind === 'acknowledged' || result.isTest
  const over = all.filter(isOver)
  const kept = all.filter(one => !isOver(one))
  const ids = (some: readonly PlannedDelivery[]) => sql`
    ${plainArray(some.map(({ result }) => result.delivery.endpointId))}::uuid[],
    ${plainArray(some.map(({ result }) => result.delivery.eventId))}::bigint[]`
  const waits = kept.map(({ plan }) => (plan.kind === 'waits' ? plan : null))
  if (over.length > 0) {
    const counted = over.map(({ plan, result }) => plan.kind === 'acknowledged' && !result.isTest)
    const ending = sql`
      with ended as (
        delete from webhook_delivery as delivery
        using unnest(${ids(over)}, ${plainArray(counted)}::boolean[]) as given (endpoint_id, event_id, is_counted)
        where delivery.endpoint_id = given.endpoint_id and delivery.event_id = given.event_id
        returning tenant_id, is_counted
      )
      ${countingUsage(
        'webhook_deliveries',
        sql`
        select tenant_id, clock_timestamp() as counted_at from ended where is_counted`,
      )}`
    await executeUnawaited(tx, ending)
  }
  if (kept.length === 0) return new Set()
  const { rows } = await sql<{ endpointId: string; eventId: string }>`
    update webhook_delivery as delivery set attempts = attempts + 1, tries = coalesce(given.tries, delivery.tries),
      due_at = case when is_given_up or delivery.due_at is null then null
        else coalesce(to_timestamp(given.due_at / 1000), delivery.due_at) end,
      held_until = to_timestamp(given.held_until / 1000),
      held_at = case when given.held_until is not null then greatest(now(), clock_timestamp()) end
    from unnest(
      ${ids(kept)}, ${kept.map(({ result }) => result.delivery.replays)}::int[],
      ${kept.map(({ plan }) => plan.kind === 'given_up')}::boolean[],
      ${waits.map(plan => plan?.tries ?? null)}::int[], ${waits.map(plan => plan?.dueAt ?? null)}::float8[],
      ${waits.map(plan => plan?.heldUntil ?? null)}::float8[]
    ) as given (endpoint_id, event_id, replays, is_given_up, tries, due_at, held_until)
    where delivery.endpoint_id = given.endpoint_id and delivery.event_id = given.event_id
      and delivery.replays = given.replays
    returning delivery.endpoint_id as "endpointId", delivery.event_id::text as "eventId"
  `.execute(tx)
  const changed = new Set(rows.map(({ endpointId, eventId }) => `${endpointId} ${eventId}`))
  const isChanged = ({ delivery }: AttemptResult) => changed.has(`${delivery.endpointId} ${delivery.eventId}`)
  return new Set(kept.flatMap(({ result }) => (isChanged(result) ? [] : [result])))
}

export async function recordEndpoints(
  tx: Transaction<Tables>,
  planned: readonly PlannedEndpoint[],
  idleIds: readonly string[],
): Promise<void> {
  if (planned.length === 0) return
  const healths = planned.map(({ health }) => health)
  const endpointIds = planned.map(({ endpointId }) => endpointId)
  const writingEndpoints = sql`
    update webhook_endpoint as endpoint set
      failing_since = to_timestamp(given.failing_since / 1000),
      last_success_at = to_timestamp(given.last_success_at / 1000),
      is_enabled = given.disabled_reason is null, disabled_reason = given.disabled_reason
    from unnest(
      ${endpointIds}::uuid[], ${healths.map(({ failingSince }) => failingSince)}::float8[],
      ${healths.map(({ lastSuccessAt }) => lastSuccessAt)}::float8[],
      ${planned.map(({ disabledReason }) => disabledReason)}::text[]
    ) as given (endpoint_id, failing_since, last_success_at, disabled_reason)
    where endpoint.id = given.endpoint_id`
  const writingDispatches = sql`
    update webhook_dispatch as dispatch set
      owner = case when dispatch.endpoint_id = any(${[...idleIds]}::uuid[]) then null else owner end,
      in_flight_max = given.in_flight_max, acknowledged = given.acknowledged, failures = given.failures,
      probes = given.probes, probe_at = to_timestamp(given.probe_at / 1000),
      paused_until = to_timestamp(given.paused_until / 1000), failed_attempts = given.failed_attempts,
      failed_event_ids = given.failed_event_ids::bigint[],
      is_releasing = is_releasing or given.is_recovered,
      due_at = case
        when given.is_recovered then clock_timestamp()
        when given.probe_at is not null then greatest(to_timestamp(given.probe_at / 1000), dispatch.paused_until)
        else least(dispatch.due_at, to_timestamp(given.due_at / 1000)) end
    from unnest(
      ${endpointIds}::uuid[], ${healths.map(one => one.inFlightMax)}::int[],
      ${healths.map(one => one.acknowledged)}::int[], ${healths.map(one => one.failures)}::int[],
      ${healths.map(one => Math.min(one.probes, 32_767))}::int[], ${healths.map(one => one.probeAt)}::float8[],
      ${healths.map(one => one.pausedUntil)}::float8[], ${healths.map(one => one.failedAttempts)}::int[],
      ${healths.map(one => `{${one.failedEventIds.join(',')}}`)}::text[],
      ${planned.map(one => one.isRecovered && !isFailing(one.health))}::boolean[],
      ${planned.map(one => one.dueAt)}::float8[]
    ) as given (
      endpoint_id, in_flight_max, acknowledged, failures, probes, probe_at, paused_until, failed_attempts,
      failed_event_ids, is_recovered, due_at
    )
    where dispatch.endpoint_id = given.endpoint_id`
  await executeUnawaited(tx, writingEndpoints)
  await executeUnawaited(tx, writingDispatches)
}
