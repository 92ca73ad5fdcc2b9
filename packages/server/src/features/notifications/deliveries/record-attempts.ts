import type { AttemptResult } from './attempt-result.ts'
import { type RawBuilder, type Transaction, sql } from 'kysely'
import { inOneFlight } from '../../../database/in-one-flight.ts'
import { plainArray } from '../../../database/plain-array.ts'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import type { Lease } from '../../../processes/lease.ts'
import { giveUpBefore, giveUpOld } from './give-up.ts'
import {
  type PlannedDelivery,
  type PlannedEndpoint,
  recordDeliveries,
  recordEndpoints,
} from './record-outcomes.ts'
import { type Circumstances, type EndpointHealth, isAcknowledged, isFailing, planOutcome } from './rules.ts'

export interface RecordedAttempts {
  /** Attempts of endpoints that were failing. */
  failing: ReadonlySet<AttemptResult>
  /** Endpoints that were disabled. */
  disabled: ReadonlyArray<{ endpointId: string; reason: 'failing' | 'gone' }>
  /** Endpoints with attempts that changed nothing, so that a delivery may be due earlier than is written down. */
  doubtedIds: ReadonlySet<string>
}

interface Plans {
  deliveries: PlannedDelivery[]
  endpoints: PlannedEndpoint[]
  failing: Set<AttemptResult>
}

/**
 * Records attempts of any endpoints in one transaction. Acknowledged deliveries are deleted in any case; everything
 * else counts only while this process dispatches for the endpoint. An attempt that is already in the log does not count
 * again: the transaction that wrote it was committed, and only the answer was lost.
 * @param idleIds endpoints with no other attempt running here; from now on another process may dispatch for them
 */
export async function recordAttempts(
  db: Db,
  {
    lease,
    results,
    idleIds,
  }: { lease: Lease; results: readonly AttemptResult[]; idleIds: readonly string[] },
): Promise<RecordedAttempts> {
  return db.transaction().execute(async tx => {
    const { healths, now, newIds } = await holdAndLog(tx, lease, results)
    const unrecorded = results.filter(({ id }) => newIds.has(id))
    const plans = planResults(unrecorded, healths, { now, chance: Math.random })
    const unchanged = await recordDeliveries(tx, plans.deliveries)
    await recordEndpoints(tx, plans.endpoints, idleIds)
    const disabled: Array<{ endpointId: string; reason: 'failing' | 'gone' }> = []
    for (const { endpointId, disabledReason, hasFailed, health } of plans.endpoints) {
      if (disabledReason) {
        await giveUpBefore(tx, endpointId)
        disabled.push({ endpointId, reason: disabledReason })
      } else if (hasFailed) await giveUpOld(tx, endpointId, isFailing(health))
    }
    const isDoubted = (result: AttemptResult) =>
      !newIds.has(result.id) || !healths.has(result.delivery.endpointId) || unchanged.has(result)
    const doubtedIds = new Set(results.filter(isDoubted).map(({ delivery }) => delivery.endpointId))
    return { failing: plans.failing, disabled, doubtedIds }
  })
}

interface HeldEndpoint {
  id: string
  failingSince: number | null
  lastSuccessAt: number | null
}

type HeldDispatch = Omit<EndpointHealth, 'failingSince' | 'lastSuccessAt'> & {
  endpointId: string
  now: number
}

/**
 * Locks the existing endpoints that this process dispatches for: first their rows, as other transactions do. Writes the
 * attempts into the log, and returns the ids of the new ones.
 */
async function holdAndLog(
  tx: Transaction<Tables>,
  lease: Lease,
  results: readonly AttemptResult[],
): Promise<{ healths: Map<string, EndpointHealth>; now: number; newIds: ReadonlySet<string> }> {
  const endpointIds = [...new Set(results.map(({ delivery }) => delivery.endpointId))]
  const enabled = sql`id = any(${endpointIds}::uuid[]) and is_enabled`
  const holdingEndpoints = sql<HeldEndpoint>`
    select id, ${milliseconds('failing_since')} as "failingSince",
      ${milliseconds('last_success_at')} as "lastSuccessAt"
    from webhook_endpoint where ${enabled}
    order by id for no key update`
  const holdingDispatches = sql<HeldDispatch>`
    select endpoint_id as "endpointId", in_flight_max as "inFlightMax", acknowledged, failures, probes,
      ${milliseconds('probe_at')} as "probeAt", ${milliseconds('paused_until')} as "pausedUntil",
      failed_attempts as "failedAttempts", failed_event_ids::text[] as "failedEventIds",
      ${milliseconds('clock_timestamp()')} as now
    from webhook_dispatch
    where endpoint_id in (select id from webhook_endpoint where ${enabled}) and owner = ${lease.id}
    order by endpoint_id for no key update`
  const [held, rows, logged] = await inOneFlight(tx, [
    holdingEndpoints,
    holdingDispatches,
    writingAttempts(results),
  ])
  const own = new Map(held.map(row => [row.id, row]))
  const healths = new Map<string, EndpointHealth>()
  for (const { endpointId, now: _, ...state } of rows) {
    const { failingSince = null, lastSuccessAt = null } = own.get(endpointId) ?? {}
    healths.set(endpointId, { ...state, failingSince, lastSuccessAt })
  }
  return { healths, now: rows[0]?.now ?? 0, newIds: new Set(logged.map(({ id }) => id)) }
}

function milliseconds(expression: string) {
  return sql.raw(`extract(epoch from ${expression})::float8 * 1000`)
}

/** Applies the rules to each attempt, in the order in which they ended. */
function planResults(
  results: readonly AttemptResult[],
  healths: ReadonlyMap<string, EndpointHealth>,
  circumstances: Circumstances,
): Plans {
  const endpoints = new Map<string, PlannedEndpoint>()
  const plans: Plans = { deliveries: [], endpoints: [], failing: new Set() }
  for (const result of results) {
    const { endpointId } = result.delivery
    const before = endpoints.get(endpointId)
    const health = before?.health ?? healths.get(endpointId)
    if (!health) {
      if (isAcknowledged(result)) plans.deliveries.push({ result, plan: { kind: 'acknowledged' } })
      continue
    }
    if (isFailing(health)) plans.failing.add(result)
    const plan = planOutcome(health, result, circumstances)
    const dueAt = plan.delivery.kind === 'waits' ? plan.delivery.dueAt : null
    plans.deliveries.push({ result, plan: plan.delivery })
    endpoints.set(endpointId, {
      endpointId,
      health: plan.health,
      isRecovered: plan.isRecovered || (before?.isRecovered ?? false),
      disabledReason: before?.disabledReason ?? plan.disabledReason,
      hasFailed: (before?.hasFailed ?? false) || plan.delivery.kind !== 'acknowledged',
      dueAt: dueAt === null ? (before?.dueAt ?? null) : Math.min(dueAt, before?.dueAt ?? dueAt),
    })
  }
  plans.endpoints = [...endpoints.values()].toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1))
  return plans
}

/** Returns the ids of the attempts that were not in the log, and whose endpoints exist. */
function writingAttempts(results: readonly AttemptResult[]): RawBuilder<{ id: string }> {
  const each = (read: (result: AttemptResult) => string | number | boolean | null) =>
    plainArray(results.map(read))
  return sql`
    insert into webhook_attempt (
      endpoint_id, id, tenant_id, event_id, event_type, account_id, attempt, status_code, error, response_excerpt,
      duration_ms, is_replay, is_test, occurred_at
    )
    select given.endpoint_id, given.id, tenant_id, event_id, event_type, account_id, attempt, status_code, error,
      response_excerpt, duration_ms, is_replay, is_test, to_timestamp(occurred_at / 1000)
    from unnest(
      ${each(({ delivery }) => delivery.endpointId)}::uuid[], ${each(({ id }) => id)}::uuid[],
      ${each(({ delivery }) => delivery.tenantId)}::uuid[], ${each(({ delivery }) => delivery.eventId)}::bigint[],
      ${each(({ delivery }) => delivery.eventType)}::text[], ${each(({ delivery }) => delivery.accountId)}::uuid[],
      ${each(({ delivery }) => delivery.attempts + 1)}::int[], ${each(({ statusCode }) => statusCode)}::int[],
      ${each(({ error }) => error)}::text[], ${results.map(({ responseExcerpt }) => responseExcerpt)}::text[],
      ${each(({ durationMilliseconds }) => Math.round(durationMilliseconds))}::int[],
      ${each(({ delivery }) => delivery.isReplay)}::boolean[], ${each(({ isTest }) => isTest)}::boolean[],
      ${each(({ startedAt }) => startedAt)}::float8[]
    ) as given (
      endpoint_id, id, tenant_id, event_id, event_type, account_id, attempt, status_code, error, response_excerpt,
      duration_ms, is_replay, is_test, occurred_at
    )
    where exists (select from webhook_endpoint where webhook_endpoint.id = given.endpoint_id)
    on conflict do nothing
    returning id`
}
