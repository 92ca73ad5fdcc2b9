import type { ClaimedDeliveries } from './claimed.ts'
import { QUICK_MILLISECONDS } from './limits.ts'
import type { AttemptResult } from './attempt-result.ts'
import { isAcknowledged } from './rules.ts'
import { type DueEndpoint, isLow, planAhead, planTurns } from './plan-attempts.ts'

/**
 * Plans how many attempts of each endpoint may run until the next look, and of which endpoints deliveries are claimed
 * ahead: an answer is then followed by the next attempt at once, and a claim is worth its statements.
 */
export class Slots {
  readonly #claimed: ClaimedDeliveries
  readonly #connectionsMax: number
  #slots = new Map<string, number>()
  /** Endpoints as they were last listed, until a look finds nothing of them. */
  readonly #known = new Map<string, DueEndpoint>()
  /** Endpoints whose last answer was a quick success: deliveries of these are claimed ahead. */
  readonly #quick = new Set<string>()
  /**
   * Whether an endpoint waits for connections that others hold: then each look shares out the connections that become
   * free.
   */
  #isShared = false

  constructor(claimed: ClaimedDeliveries, connectionsMax: number) {
    this.#claimed = claimed
    this.#connectionsMax = connectionsMax
  }

  /** Number of attempts of an endpoint that may start now. */
  countFree(endpointId: string): number {
    return Math.max(0, (this.#slots.get(endpointId) ?? 0) - this.#claimed.countPosted(endpointId))
  }

  /** Endpoints that can take no more, neither now nor ahead. */
  listFull(): string[] {
    return [...this.#known].flatMap(([id, { inFlightMax }]) =>
      this.#claimed.countPosted(id) >= inFlightMax && !this.#isLow(id) ? [id] : [],
    )
  }

  /** Whether another claim may help an endpoint. */
  wantsMore(endpointId: string): boolean {
    return this.#isShared || this.#claimed.countWaiting(endpointId) === 0 || this.#isLow(endpointId)
  }

  /**
   * Gives endpoints their slots.
   * @param listed the endpoints with deliveries that are due and not claimed
   * @returns how many deliveries of each are to be claimed, now and ahead
   */
  plan(listed: readonly DueEndpoint[], hasOtherTenants: boolean): Map<string, number> {
    this.#forgetOthers(listed)
    for (const endpoint of listed) this.#known.set(endpoint.endpointId, endpoint)
    const inFlight = this.#claimed.inFlight()
    const all = [...listed, ...this.#listWaiting(new Set(listed.map(({ endpointId }) => endpointId)))]
    const connectionsMax = this.#connectionsMax
    const turns = planTurns(all, inFlight, { connectionsMax, hasOtherTenants })
    this.#slots = new Map(inFlight.endpoints)
    for (const [id, count] of turns) this.#slots.set(id, (this.#slots.get(id) ?? 0) + count)
    // Waiting deliveries go first.
    const waiting = (id: string) => Math.max(0, this.#claimed.countWaiting(id) - this.countFree(id))
    const ahead = planAhead(all, this.#slots, {
      waiting,
      waitingMax: id => this.#waitingMax(id),
    })
    this.#isShared = ahead === null
    const wanted = new Map<string, number>()
    for (const { endpointId } of listed) {
      const now = Math.max(0, this.countFree(endpointId) - this.#claimed.countWaiting(endpointId))
      const count = now + (ahead?.get(endpointId) ?? 0)
      if (count > 0) wanted.set(endpointId, count)
    }
    return wanted
  }

  /** @returns whether deliveries may still be claimed ahead of its endpoint */
  noteAnswer(result: AttemptResult): boolean {
    const { endpointId } = result.delivery
    const isQuick = isAcknowledged(result) && result.durationMilliseconds <= QUICK_MILLISECONDS
    if (isQuick) this.#quick.add(endpointId)
    else this.#quick.delete(endpointId)
    if (this.#isShared) this.#slots.set(endpointId, (this.#slots.get(endpointId) ?? 0) - 1)
    return isQuick
  }

  /** Lets nothing start any more. */
  close(): void {
    this.#slots.clear()
  }

  /** Forgets endpoints that have no claimed deliveries and nothing due. */
  #forgetOthers(listed: readonly DueEndpoint[]): void {
    const present = this.#claimed.endpointsBeside([])
    for (const { endpointId } of listed) present.add(endpointId)
    for (const id of this.#known.keys()) {
      if (present.has(id)) continue
      this.#known.delete(id)
      this.#quick.delete(id)
    }
  }

  /** All that wait are together no more than the process has connections. */
  #waitingMax(id: string): number {
    if (!this.#quick.has(id)) return 0
    const { inFlightMax = 0 } = this.#known.get(id) ?? {}
    return Math.min(inFlightMax, Math.floor(this.#connectionsMax / this.#quick.size))
  }

  #isLow(id: string): boolean {
    return isLow(this.#claimed.countWaiting(id), this.#waitingMax(id))
  }

  /** Endpoints that are not listed, since all that is due of them was claimed ahead. */
  #listWaiting(listedIds: ReadonlySet<string>): DueEndpoint[] {
    return [...this.#known.values()].flatMap(endpoint => {
      const { endpointId } = endpoint
      const waiting = this.#claimed.countWaiting(endpointId)
      if (waiting === 0 || listedIds.has(endpointId)) return []
      const most = this.#claimed.countPosted(endpointId) + waiting
      return { ...endpoint, inFlightMax: Math.min(endpoint.inFlightMax, most) }
    })
  }
}
