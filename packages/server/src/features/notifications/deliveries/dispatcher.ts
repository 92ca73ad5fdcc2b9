import type { Db } from '../../../database/pool.ts'
import type { Instance } from '../../../processes/instance.ts'
import type { Lease } from '../../../processes/lease.ts'
import type { Pulse } from '../../../processes/pulse.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import type { Poster } from '../../../kit/egress/post.ts'
import type { Logger } from '../../../kit/log.ts'
import { openSemaphore } from '../../../kit/semaphore.ts'
import type { ReachPoint } from '../../../kit/reach-point.ts'
import { type EndpointTarget, findTargets } from '../webhooks/target-store.ts'
import type { WebhookKeys } from '../webhooks/secrets.ts'
import { AttemptRecords } from './attempt-records.ts'
import { makeAttempt } from './attempt.ts'
import { type Claimed, ClaimedDeliveries } from './claimed.ts'
import { claimDeliveries } from './claims.ts'
import { hasDueEndpoints, listDueEndpoints, putOffEndpoints } from './due-endpoints.ts'
import { continueGivingUp } from './give-up.ts'
import type { RecordedAttempts } from './record-attempts.ts'
import type { AttemptResult } from './attempt-result.ts'
import { isAcknowledged } from './rules.ts'
import { Slots } from './slots.ts'
import type { DueEndpoint } from './plan-attempts.ts'

/** The pulse, wakes and due times find due deliveries; this poll is only a safeguard. */
const POLL_SECONDS = 30
/** Endpoints in doubt are looked at again after this time. */
const DOUBT_SECONDS = 1
const LOOK_INTERVAL_MILLISECONDS = 4
/**
 * The next look after a claim comes this soon: the rest may be due earlier than the next time that was seen before it.
 */
const AFTER_CLAIM_SECONDS = 0.02

const NO_TARGETS: ReadonlyMap<string, EndpointTarget> = new Map()

/** Moments at which a test ends the process. */
export type DeliveryPoint = 'deliveries_claimed' | 'delivery_answered' | 'attempts_recorded'

export interface DispatcherOptions {
  db: Db
  keys: WebhookKeys
  poster: Poster
  instance: Instance
  pulse: Pulse
  log: Logger
  reach: ReachPoint<DeliveryPoint>
  /** Attempts of this process that run at once. */
  connectionsMax: number
  onRecorded(results: readonly AttemptResult[], recorded: RecordedAttempts): void
}

/**
 * Posts due deliveries to their endpoints. Endpoints are scheduled, not deliveries: each in its turn gives the
 * deliveries that have waited longest. Disposing takes nothing new, and waits for posted deliveries.
 */
export class WebhookDispatcher implements AsyncDisposable {
  readonly #options: DispatcherOptions
  readonly #records: AttemptRecords
  readonly #loop: WokenLoop
  /** Claims and records take turns: a claim passes over locked endpoints, and depends on the latest records. */
  readonly #turn = openSemaphore({ atOnce: 1, waitingMax: 2 })
  readonly #claimed = new ClaimedDeliveries()
  readonly #attempts = new Set<Promise<void>>()
  readonly #slots: Slots
  /** Endpoints that are being given back. */
  readonly #leaving = new Set<string>()
  #claiming: ReadonlySet<string> = new Set()
  /** Endpoints of the running claim that failed or changed meanwhile: nothing is claimed ahead of them. */
  readonly #outdated = new Set<string>()
  /** Endpoints that may be due earlier than is written down, since a claim failed or an attempt changed nothing. */
  readonly #doubted = new Set<string>()
  #clock = { now: Date.now(), at: performance.now() }

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { db, log, connectionsMax } = options
    this.#slots = new Slots(this.#claimed, connectionsMax)
    this.#records = new AttemptRecords({
      db,
      log,
      turn: this.#turn,
      takeIdle: results => this.#takeIdle(results),
      onRecorded: (results, recorded, idleIds) => this.#noteRecorded(results, recorded, idleIds),
    })
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      listen: wake => options.pulse.ask({ isDue: () => hasDueEndpoints, onDue: wake }),
      intervalMilliseconds: LOOK_INTERVAL_MILLISECONDS,
      failure: 'Could not look for webhooks to deliver',
      log,
    })
  }

  /**
   * Makes the dispatcher look for due deliveries. Returns at once and never throws.
   * @param changedIds endpoints that may have changed, among other ids: their deliveries that were claimed ahead are
   *   claimed again
   */
  wake(changedIds: readonly string[] = []): void {
    for (const id of changedIds) this.#drop(id)
    this.#loop.wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    this.#slots.close()
    await Promise.all(this.#attempts)
    await this.#records[Symbol.asyncDispose]()
  }

  async #look(stopped: AbortSignal): Promise<number> {
    const { db, instance, connectionsMax, reach } = this.#options
    const lease = await instance.awaitLease(stopped)
    for (const id of this.#claimed.listStale()) this.#drop(id)
    // The end of an attempt wakes the loop.
    if (this.#claimed.inFlight().total >= connectionsMax) return POLL_SECONDS
    const fullIds = [...this.#slots.listFull(), ...this.#leaving]
    const doubtedIds = [...this.#doubted].filter(id => !fullIds.includes(id))
    const due = await listDueEndpoints(db, lease, { fullIds, doubtedIds })
    this.#clock = { now: due.now, at: performance.now() }
    if (!due.isCut) this.#forgetDoubted(doubtedIds, due.endpoints)
    const endpoints = due.endpoints.filter(({ endpointId }) => !this.#leaving.has(endpointId))
    const wanted = this.#slots.plan(endpoints, due.hasSeveralTenants)
    for (const id of this.#claimed.listWaiting()) this.#startWaiting(id)
    const claimed = await this.#claim(lease, wanted, endpoints)
    if (claimed > 0) await reach('deliveries_claimed', '')
    const hasGivenUp = due.hasGivingUp && (await continueGivingUp(db))
    if (hasGivenUp || (claimed > 0 && due.isCut)) return 0
    if (claimed > 0) return AFTER_CLAIM_SECONDS
    const isUnsure = this.#doubted.size > 0 || this.#claimed.countAllWaiting() > 0
    const poll = isUnsure ? DOUBT_SECONDS : POLL_SECONDS
    return Math.min(Math.max(due.seconds ?? poll, 0), poll)
  }

  /** Forgets endpoints that another process dispatches for, and endpoints that are disabled or deleted. */
  #forgetDoubted(doubtedIds: readonly string[], listed: readonly { endpointId: string }[]): void {
    const listedIds = new Set(listed.map(({ endpointId }) => endpointId))
    for (const id of doubtedIds) if (!listedIds.has(id)) this.#doubted.delete(id)
  }

  /** Claims deliveries and starts attempts. @returns how many were claimed */
  async #claim(
    lease: Lease,
    wanted: ReadonlyMap<string, number>,
    endpoints: readonly DueEndpoint[],
  ): Promise<number> {
    const { db, keys, log } = this.#options
    const ids = [...wanted.keys()]
    this.#claiming = new Set(ids)
    try {
      const claiming = this.#turn.take(async () => {
        const doubtedIds = ids.filter(id => this.#doubted.has(id))
        // From here on, a given-up claim, or one that changes nothing, raises a new doubt.
        for (const id of ids) this.#doubted.delete(id)
        // Not earlier: a record of the meantime decides when its delivery is due again.
        const busy = this.#claimed.all.filter(({ endpointId }) => wanted.has(endpointId))
        const claim = await claimDeliveries(db, lease, { turns: wanted, busy })
        // The claim passed over endpoints that were locked elsewhere, so their doubt remains.
        for (const id of doubtedIds) if (!claim.heldIds.has(id)) this.#doubted.add(id)
        return claim
      })
      const finding = ids.length > 0 ? findTargets(db, { keys, log }, ids) : NO_TARGETS
      const [taken, targets] = await Promise.all([claiming, finding])
      const claimed = taken?.deliveries ?? []
      const hosts = new Map(endpoints.map(({ endpointId, host }) => [endpointId, host]))
      for (const delivery of claimed) {
        const target = targets.get(delivery.endpointId)
        if (target) this.#claimed.add({ lease, delivery, target, host: hosts.get(target.id) ?? '' })
      }
      for (const id of ids) this.#startWaiting(id)
      for (const id of this.#outdated) this.#drop(id)
      const claimedIds = [...new Set(claimed.map(({ endpointId }) => endpointId))]
      await this.#putOff(
        lease,
        claimedIds.filter(id => !targets.has(id)),
      )
      return claimed.length
    } catch (error) {
      for (const id of ids) this.#doubted.add(id)
      throw error
    } finally {
      this.#claiming = new Set()
      this.#outdated.clear()
    }
  }

  /** Puts off endpoints whose claimed deliveries cannot be attempted. */
  async #putOff(lease: Lease, endpointIds: readonly string[]): Promise<void> {
    if (endpointIds.length === 0) return
    const busy = this.#claimed.endpointsBeside([])
    const idleIds = endpointIds.filter(id => !busy.has(id))
    await putOffEndpoints(this.#options.db, lease, { endpointIds, idleIds })
  }

  /** Starts attempts of deliveries that wait, as far as their endpoint may have more. */
  #startWaiting(endpointId: string): void {
    while (this.#slots.countFree(endpointId) > 0) {
      const claimed = this.#claimed.take(endpointId)
      if (!claimed) return
      const attempt = this.#attempt(claimed).finally(() => this.#attempts.delete(attempt))
      this.#attempts.add(attempt)
    }
  }

  async #attempt({ lease, delivery, target }: Claimed): Promise<void> {
    const { poster, reach } = this.#options
    const now = () => this.#clock.now + performance.now() - this.#clock.at
    const result = await makeAttempt(poster, { delivery, target, now })
    this.#claimed.noteAnswer(delivery)
    this.#goOn(result)
    await reach('delivery_answered', delivery.eventId)
    this.#records.add(lease, result)
  }

  /** Uses the connection that an answer has freed. */
  #goOn(result: AttemptResult): void {
    const { endpointId } = result.delivery
    const mayWait = this.#slots.noteAnswer(result)
    if (!mayWait) this.#drop(endpointId)
    this.#startWaiting(endpointId)
    // Deliveries that are left although more may start are stale, and the next look drops them.
    if (this.#slots.countFree(endpointId) > 0 || this.#slots.wantsMore(endpointId)) this.#loop.wake()
  }

  /** Gives up deliveries of an endpoint that were claimed ahead. They are due, and are claimed again. */
  #drop(endpointId: string): void {
    if (this.#claiming.has(endpointId)) this.#outdated.add(endpointId)
    if (this.#claimed.drop(endpointId)) this.#doubted.add(endpointId)
  }

  #takeIdle(results: readonly AttemptResult[]): string[] {
    // An endpoint in doubt is not given back before its next claim: no other process could see that it is due.
    const busy = new Set([...this.#claimed.endpointsBeside(results), ...this.#claiming, ...this.#doubted])
    const idle = new Set(
      results.flatMap(({ delivery: { endpointId } }) => (busy.has(endpointId) ? [] : [endpointId])),
    )
    for (const id of idle) this.#leaving.add(id)
    return [...idle]
  }

  async #noteRecorded(
    results: readonly AttemptResult[],
    recorded: RecordedAttempts,
    idleIds: readonly string[],
  ): Promise<void> {
    const { log, onRecorded, reach } = this.#options
    this.#claimed.forget(results)
    for (const id of idleIds) this.#leaving.delete(id)
    for (const id of recorded.doubtedIds) this.#doubted.add(id)
    for (const { endpointId, reason } of recorded.disabled)
      log.info({ endpointId, reason }, 'A webhook endpoint was disabled')
    onRecorded(results, recorded)
    const isDone = idleIds.length === 0 && recorded.doubtedIds.size === 0 && results.every(isAcknowledged)
    if (!isDone) this.#loop.wake()
    await reach('attempts_recorded', '')
  }
}
