import { IN_FLIGHT_PER_HOST, TENANT_SHARE } from './limits.ts'

/** An endpoint with deliveries that are due. */
export interface DueEndpoint {
  endpointId: string
  tenantId: string
  /** The host of its target. */
  host: string
  /** Attempts of it that may run at once. */
  inFlightMax: number
}

/** Attempts that run now: by endpoint, by tenant, by tenant and host, and in all. */
export interface InFlight {
  endpoints: ReadonlyMap<string, number>
  tenants: ReadonlyMap<string, number>
  hosts: ReadonlyMap<string, number>
  total: number
}

export function hostKey({ tenantId, host }: Pick<DueEndpoint, 'tenantId' | 'host'>): string {
  return `${tenantId} ${host}`
}

/**
 * Decides how many attempts each endpoint may start now. Tenants take turns, and so do the endpoints of a tenant, in the
 * order in which they are given. While other tenants have endpoints, none holds more than its share of the connections.
 */
export function planTurns(
  endpoints: readonly DueEndpoint[],
  inFlight: InFlight,
  { connectionsMax, hasOtherTenants }: { connectionsMax: number; hasOtherTenants: boolean },
): Map<string, number> {
  const planned = new Map<string, number>()
  const tenants = new Map(inFlight.tenants)
  const hosts = new Map(inFlight.hosts)
  const tenantMax = hasOtherTenants ? Math.max(1, Math.floor(connectionsMax * TENANT_SHARE)) : connectionsMax
  const mayTake = (endpoint: DueEndpoint) =>
    (tenants.get(endpoint.tenantId) ?? 0) < tenantMax &&
    (hosts.get(hostKey(endpoint)) ?? 0) < IN_FLIGHT_PER_HOST &&
    (inFlight.endpoints.get(endpoint.endpointId) ?? 0) + (planned.get(endpoint.endpointId) ?? 0) <
      endpoint.inFlightMax
  let room = connectionsMax - inFlight.total
  let queues = [...Map.groupBy(endpoints, ({ tenantId }) => tenantId).values()].map(queue => [...queue])
  while (room > 0 && queues.length > 0) {
    const open: DueEndpoint[][] = []
    for (const queue of queues) {
      if (room === 0) break
      const at = queue.findIndex(mayTake)
      const endpoint = queue[at]
      if (!endpoint) continue
      // The endpoints before it may take no more, and it is the last one of the next round.
      queue.splice(0, at + 1)
      queue.push(endpoint)
      planned.set(endpoint.endpointId, (planned.get(endpoint.endpointId) ?? 0) + 1)
      tenants.set(endpoint.tenantId, (tenants.get(endpoint.tenantId) ?? 0) + 1)
      hosts.set(hostKey(endpoint), (hosts.get(hostKey(endpoint)) ?? 0) + 1)
      room--
      open.push(queue)
    }
    queues = open
  }
  return planned
}

/** Whether so few wait that a claim of more is worth its statements. */
export function isLow(waiting: number, waitingMax: number): boolean {
  return waitingMax > 0 && waiting * 2 <= waitingMax
}

/**
 * Decides how many deliveries of each endpoint are claimed ahead. Null if that would be unfair: an endpoint could take
 * more attempts, and has fewer than another.
 * @param slots attempts that run or start now, by endpoint
 */
export function planAhead(
  endpoints: readonly DueEndpoint[],
  slots: ReadonlyMap<string, number>,
  options: {
    /** Number of deliveries of an endpoint that were claimed ahead before. */
    waiting(endpointId: string): number
    /** Number of deliveries of an endpoint that may wait. */
    waitingMax(endpointId: string): number
  },
): Map<string, number> | null {
  const slotsMost = Math.max(0, ...slots.values())
  const isBehind = ({ endpointId, inFlightMax }: DueEndpoint) => {
    const own = slots.get(endpointId) ?? 0
    return own < inFlightMax && own + 1 < slotsMost
  }
  if (endpoints.some(isBehind)) return null
  const ahead = new Map<string, number>()
  for (const { endpointId } of endpoints) {
    const [waiting, most] = [options.waiting(endpointId), options.waitingMax(endpointId)]
    if (isLow(waiting, most)) ahead.set(endpointId, most - waiting)
  }
  return ahead
}
