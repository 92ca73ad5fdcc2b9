import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { isFree, isUnheld } from '../../../processes/claims.ts'
import type { Lease } from '../../../processes/lease.ts'
import type { DueEndpoint } from './plan-attempts.ts'

const ENDPOINTS_AT_ONCE = 200
/** An endpoint of a suspended tenant is looked at again after this time. */
const SUSPENDED_SECONDS = 30
/** An endpoint whose deliveries can be neither signed nor recorded is looked at again after this time. */
const PUT_OFF_SECONDS = 60

export interface DueEndpoints {
  endpoints: DueEndpoint[]
  /** Seconds until something else becomes due; null if nothing waits. */
  seconds: number | null
  /** Whether more than one tenant has endpoints. */
  hasSeveralTenants: boolean
  /** Whether some waiting deliveries are still to be given up. */
  hasGivingUp: boolean
  /** Whether more endpoints were due than are looked at together. */
  isCut: boolean
  /** The database's clock, in milliseconds since 1970. */
  now: number
}

/** A condition for the pulse: whether `listDueEndpoints` would find something. */
export const hasDueEndpoints = sql<boolean>`(
  exists (select from webhook_dispatch where due_at <= clock_timestamp())
  or exists (select from webhook_dispatch where give_up_before is not null)
  or exists (
    select from webhook_dispatch
    where owner is not null and ${isUnheld('owner')}
  )
)`

/** Whether this process may dispatch for an endpoint. */
export function isOwn(lease: Lease) {
  return isFree('owner', lease)
}

/**
 * Lists endpoints that are due, and endpoints that a dead process dispatched for. Endpoints that may not be attempted
 * now are put off, so that they do not hide the others.
 */
export async function listDueEndpoints(
  db: Db,
  lease: Lease,
  {
    doubtedIds,
    fullIds,
  }: {
    /** Endpoints that may be due earlier than is written down. */
    doubtedIds: readonly string[]
    /** Endpoints that can take no more. */
    fullIds: readonly string[]
  },
): Promise<DueEndpoints> {
  type Row = Omit<DueEndpoints, 'endpoints'> & Omit<DueEndpoint, 'host'> & { url: string }
  const { rows } = await sql<Row>`
    with due as materialized (
      select endpoint_id, tenant_id, in_flight_max, served_at, due_at from (
        select endpoint_id, tenant_id, in_flight_max, served_at, owner, due_at from webhook_dispatch
        where due_at <= clock_timestamp()
        union
        select endpoint_id, tenant_id, in_flight_max, served_at, owner, due_at from webhook_dispatch
        where owner is not null and ${isUnheld('owner')}
        union
        select endpoint_id, tenant_id, in_flight_max, served_at, owner, due_at from webhook_dispatch
        where endpoint_id = any(${[...doubtedIds]}::uuid[])
      ) as found
      where not endpoint_id = any(${[...fullIds]}::uuid[]) and ${isOwn(lease)}
      -- However many endpoints of one tenant are due, the others are among those that are looked at.
      order by row_number() over (partition by tenant_id order by served_at), served_at
      limit ${ENDPOINTS_AT_ONCE}
    ), judged as (
      select due.*, endpoint.url, tenant.suspended_at is not null as is_suspended,
        coalesce(endpoint.is_enabled, false) and tenant.suspended_at is null as is_usable
      from due join tenant on tenant.id = due.tenant_id
      left join webhook_endpoint as endpoint on endpoint.id = due.endpoint_id
    ), put_off as (
      update webhook_dispatch as dispatch set owner = null,
        due_at = case when is_suspended then clock_timestamp() + make_interval(secs => ${SUSPENDED_SECONDS}) end
      from judged where judged.endpoint_id = dispatch.endpoint_id and not is_usable
        -- Whoever has enabled it meanwhile has made it due.
        and dispatch.due_at is not distinct from judged.due_at
    ), facts as (
      select extract(epoch from (
          select min(due_at) from webhook_dispatch where due_at > clock_timestamp()
        ) - clock_timestamp())::float8 as seconds,
        (select tenant_id from webhook_endpoint where is_enabled order by tenant_id limit 1)
          is distinct from (select tenant_id from webhook_endpoint where is_enabled order by tenant_id desc limit 1)
          as several,
        exists (select from webhook_dispatch where give_up_before is not null) as giving_up,
        (select count(*) from due) = ${ENDPOINTS_AT_ONCE} as is_cut,
        extract(epoch from clock_timestamp())::float8 * 1000 as now
    )
    select endpoint_id as "endpointId", tenant_id as "tenantId", url, in_flight_max as "inFlightMax",
      seconds, several as "hasSeveralTenants", giving_up as "hasGivingUp", is_cut as "isCut", now
    from facts left join judged on is_usable
  `.execute(db)
  // The facts are in every row.
  const { seconds, hasSeveralTenants, hasGivingUp, isCut, now } = rows[0]!
  const endpoints = rows.flatMap(({ endpointId, tenantId, url, inFlightMax }) =>
    endpointId === null ? [] : [{ endpointId, tenantId, inFlightMax, host: new URL(url).host }],
  )
  return { endpoints, seconds, hasSeveralTenants, hasGivingUp, isCut, now }
}

/**
 * Puts off endpoints that this process dispatches for.
 * @param idleIds endpoints with no attempt running here; from now on another process may dispatch for them
 */
export async function putOffEndpoints(
  db: Db,
  lease: Lease,
  { endpointIds, idleIds }: { endpointIds: readonly string[]; idleIds: readonly string[] },
): Promise<void> {
  await sql`
    update webhook_dispatch set due_at = clock_timestamp() + make_interval(secs => ${PUT_OFF_SECONDS}),
      owner = case when endpoint_id = any(${[...idleIds]}::uuid[]) then null else owner end
    where endpoint_id = any(${[...endpointIds]}::uuid[]) and owner = ${lease.id}
  `.execute(db)
}
