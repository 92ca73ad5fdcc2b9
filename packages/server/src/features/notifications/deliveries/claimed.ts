import type { Lease } from '../../../processes/lease.ts'
import type { EndpointTarget } from '../webhooks/target-store.ts'
import type { ClaimedDelivery } from './claims.ts'
import { AHEAD_MILLISECONDS_MAX } from './limits.ts'
import type { AttemptResult } from './attempt-result.ts'
import { hostKey, type InFlight } from './plan-attempts.ts'

/** A delivery that this process claimed, with the data that an attempt needs. */
export interface Claimed {
  lease: Lease
  delivery: ClaimedDelivery
  target: EndpointTarget
  host: string
}

interface Held extends Claimed {
  /** An answered one is only being recorded, and holds no connection. */
  state: 'waiting' | 'posted' | 'answered'
  claimedAt: number
}

/**
 * The deliveries that this process has claimed: deliveries that it posts, deliveries that are answered but not recorded
 * yet, and deliveries claimed ahead, which wait until another one of their endpoint is answered.
 */
export class ClaimedDeliveries {
  readonly #held = new Map<string, Held>()
  readonly #posted = new Map<string, number>()
  /**
   * Waiting deliveries, by endpoint: tests, then events, then replays, each in the order in which they were claimed.
   */
  readonly #waiting = new Map<string, Held[]>()

  get all(): ClaimedDelivery[] {
    return Array.from(this.#held.values(), ({ delivery }) => delivery)
  }

  /** Number of deliveries that are being posted. */
  countPosted(endpointId: string): number {
    return this.#posted.get(endpointId) ?? 0
  }

  countWaiting(endpointId: string): number {
    return this.#waiting.get(endpointId)?.length ?? 0
  }

  /** Endpoints for which some wait. */
  listWaiting(): string[] {
    return [...this.#waiting.keys()]
  }

  countAllWaiting(): number {
    return [...this.#waiting.values()].reduce((sum, waiting) => sum + waiting.length, 0)
  }

  add(claimed: Claimed): void {
    const { endpointId } = claimed.delivery
    const held: Held = { ...claimed, state: 'waiting', claimedAt: performance.now() }
    this.#held.set(keyOf(claimed.delivery), held)
    const waiting = this.#waiting.get(endpointId) ?? []
    const at = waiting.findIndex(other => rankOf(other) > rankOf(held))
    waiting.splice(at === -1 ? waiting.length : at, 0, held)
    this.#waiting.set(endpointId, waiting)
  }

  /** Takes the next waiting delivery, to post it. Stale ones are left, to be dropped. */
  take(endpointId: string): Claimed | null {
    const waiting = this.#waiting.get(endpointId) ?? []
    if (isStale(waiting)) return null
    const next = waiting.shift()
    if (waiting.length === 0) this.#waiting.delete(endpointId)
    if (!next) return null
    next.state = 'posted'
    this.#posted.set(endpointId, this.countPosted(endpointId) + 1)
    return next
  }

  /** Gives up the claims of the waiting deliveries. @returns whether there were any */
  drop(endpointId: string): boolean {
    const waiting = this.#waiting.get(endpointId) ?? []
    for (const { delivery } of waiting) this.#held.delete(keyOf(delivery))
    return this.#waiting.delete(endpointId)
  }

  /** Endpoints for which some have waited for too long, or under a lease that has lapsed. */
  listStale(): string[] {
    return [...this.#waiting].flatMap(([endpointId, waiting]) => (isStale(waiting) ? [endpointId] : []))
  }

  noteAnswer(delivery: ClaimedDelivery): void {
    const held = this.#held.get(keyOf(delivery))
    if (held?.state !== 'posted') return
    held.state = 'answered'
    const left = this.countPosted(delivery.endpointId) - 1
    if (left > 0) this.#posted.set(delivery.endpointId, left)
    else this.#posted.delete(delivery.endpointId)
  }

  forget(results: readonly AttemptResult[]): void {
    for (const { delivery } of results) this.#held.delete(keyOf(delivery))
  }

  /** Endpoints that have other claimed deliveries than these. */
  endpointsBeside(results: readonly AttemptResult[]): Set<string> {
    const ending = new Set(results.map(({ delivery }) => keyOf(delivery)))
    const endpointIds = new Set<string>()
    for (const [key, { delivery }] of this.#held) if (!ending.has(key)) endpointIds.add(delivery.endpointId)
    return endpointIds
  }

  inFlight(): InFlight {
    const posted = [...this.#held.values()].filter(({ state }) => state === 'posted')
    const [tenants, hosts] = [new Map<string, number>(), new Map<string, number>()]
    const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
    let total = 0
    for (const { delivery, host } of posted) {
      count(tenants, delivery.tenantId)
      count(hosts, hostKey({ tenantId: delivery.tenantId, host }))
      total++
    }
    return { endpoints: new Map(this.#posted), tenants, hosts, total }
  }
}

function isStale(waiting: readonly Held[]): boolean {
  const since = performance.now() - AHEAD_MILLISECONDS_MAX
  return waiting.some(({ claimedAt, lease }) => claimedAt < since || lease.lapsed.aborted)
}

function keyOf({ endpointId, eventId }: ClaimedDelivery): string {
  return `${endpointId} ${eventId}`
}

function rankOf({ delivery: { isTest, isReplay } }: Claimed): number {
  return isTest ? 0 : isReplay ? 2 : 1
}
