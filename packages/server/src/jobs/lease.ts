import { sql } from 'kysely'
import type { DatabaseAddress } from '../database/pool.ts'
import { TimedConnection } from '../database/timed-connection.ts'
import { newId } from '../kit/ids.ts'
import type { Logger } from '../kit/log.ts'
import { pause } from './nudge.ts'

/** How a process holds what it owns. Tests are more impatient than production. */
export interface LeasePace {
  /** For others, the owner is dead this long after its last heartbeat. */
  leaseSeconds: number
  heartbeatSeconds: number
  /** A heartbeat that is not answered in this time has failed. */
  answerSeconds: number
  /** Ends our own work well before others may take it over, when the database is out of reach or this process slept. */
  fenceSeconds: number
}

const LEASE_PACE: LeasePace = { leaseSeconds: 10, heartbeatSeconds: 2, answerSeconds: 3, fenceSeconds: 7 }
const RETRY_SECONDS = 0.5

/**
 * Whether the lease of a row of `instance` holds. No heartbeat sets a time that far ahead: it was written before the
 * database's clock was set back.
 */
export const isLive = sql<boolean>`(heartbeat_until > clock_timestamp() and heartbeat_until < clock_timestamp() + interval '1 minute')`

/** What others may know of a process. */
export interface ProcessFacts {
  roles: readonly string[]
  host: string
  /** The release that it runs. */
  version: string
}

export interface LeaseOptions {
  address: DatabaseAddress
  log: Logger
  facts: ProcessFacts
  /** Whether no other process can be using this database, so that every other lease has ended. */
  isAlone: boolean
  /** An earlier lease of this process, which has ended. */
  predecessorId: string | null
  pace?: LeasePace | undefined
}

/**
 * The right of this process to own rows, such as accounts: a row of `instance`, kept alive by a heartbeat. It holds by
 * the database's clock for the others, by the monotonic clock for this process. A lease that lapsed is never renewed.
 */
export class Lease implements AsyncDisposable {
  readonly id = newId()
  readonly #log: Logger
  readonly #pace: LeasePace
  /** Of its own, so that a busy pool never stops the heartbeat. */
  readonly #connection: TimedConnection
  readonly #stop = new AbortController()
  readonly #lapse = new AbortController()
  #fence: NodeJS.Timeout | undefined
  #beating: Promise<void> = Promise.resolve()

  private constructor({ address, log, pace = LEASE_PACE }: LeaseOptions) {
    this.#log = log
    this.#pace = pace
    this.#connection = new TimedConnection(address, 'waxwing lease', pace.answerSeconds)
  }

  /** Rejects where the database does not answer in time. */
  static async register(options: LeaseOptions): Promise<Lease> {
    const lease = new Lease(options)
    try {
      await lease.#register(options)
    } catch (error) {
      lease.#end(lease.#lapse)
      throw error
    }
    return lease
  }

  /** Aborts once the lease may no longer be relied on: others may soon own what this process owned. */
  get lapsed(): AbortSignal {
    return this.#lapse.signal
  }

  async #register({ facts, isAlone, predecessorId }: LeaseOptions): Promise<void> {
    const startedAt = performance.now()
    await this.#connection.query(
      `update instance set heartbeat_until = '-infinity'
      where heartbeat_until > '-infinity' and ($1 or id = $2)`,
      [isAlone, predecessorId],
    )
    await this.#connection.query(
      `delete from instance where heartbeat_until < clock_timestamp() - interval '1 hour'
        and not exists (select from account where owner_instance = instance.id)`,
      [],
    )
    await this.#connection.query(
      `insert into instance (id, heartbeat_until, roles, host, version)
      values ($1, clock_timestamp() + make_interval(secs => $2), $3, $4, $5)`,
      [this.id, this.#pace.leaseSeconds, facts.roles, facts.host, facts.version],
    )
    this.#armFence(startedAt)
    this.#beating = this.#keepBeating()
  }

  async #keepBeating(): Promise<void> {
    const { heartbeatSeconds } = this.#pace
    const ended = AbortSignal.any([this.#stop.signal, this.#lapse.signal])
    let wait = heartbeatSeconds
    for (;;) {
      await pause(wait * 1_000, ended)
      if (ended.aborted) return
      try {
        await this.#beat()
        wait = heartbeatSeconds
      } catch (error) {
        if (ended.aborted) return
        this.#log.warn({ error }, 'Heartbeat failed')
        wait = Math.min(RETRY_SECONDS, heartbeatSeconds)
      }
    }
  }

  async #beat(): Promise<void> {
    const startedAt = performance.now()
    const renewed = await this.#connection.query(
      `update instance set heartbeat_until = clock_timestamp() + make_interval(secs => $2)
      where id = $1 and heartbeat_until > clock_timestamp() returning id`,
      [this.id, this.#pace.leaseSeconds],
    )
    if (renewed.length > 0) this.#armFence(startedAt)
    else this.#end(this.#lapse)
  }

  /** A timer of its own: it waits for no statement. */
  #armFence(beatAt: number): void {
    clearTimeout(this.#fence)
    if (this.#stop.signal.aborted || this.#lapse.signal.aborted) return
    const left = beatAt + this.#pace.fenceSeconds * 1_000 - performance.now()
    this.#fence = setTimeout(() => this.#end(this.#lapse), left)
  }

  #end(how: AbortController): void {
    clearTimeout(this.#fence)
    how.abort()
    if (how === this.#lapse) this.#connection[Symbol.dispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(this.#stop)
    await this.#beating
    if (this.#lapse.signal.aborted) return
    try {
      // What could not be released is without an owner from here on.
      await this.#connection.query('delete from instance where id = $1', [this.id])
    } catch (error) {
      this.#log.warn({ error }, 'Could not end the lease; it runs out instead')
    }
    this.#connection[Symbol.dispose]()
  }
}
