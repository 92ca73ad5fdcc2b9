import { sql } from 'kysely'
import type { DatabaseAddress } from '../database/pool.ts'
import { TimedConnection } from '../database/timed-connection.ts'
import { newId } from '../kit/ids.ts'
import type { Logger } from '../kit/log.ts'
import { Nudge, pause } from './nudge.ts'

/** The timing of a lease. Tests use shorter times. */
export interface LeasePace {
  /** Other processes take the owner for dead this long after its last heartbeat. */
  leaseSeconds: number
  heartbeatSeconds: number
  /** A heartbeat that is not answered within this time has failed. */
  answerSeconds: number
  /** Ends our own work well before others may take it over, if the database is out of reach or this process slept. */
  fenceSeconds: number
}

const LEASE_PACE: LeasePace = { leaseSeconds: 10, heartbeatSeconds: 2, answerSeconds: 3, fenceSeconds: 7 }
const RETRY_SECONDS = 0.5
/** Minimum interval between two heartbeats, however often the load changes. */
const REPORT_SECONDS = 0.2

/**
 * Whether the lease of a row of `instance` is valid. A time more than a minute ahead was written before the database's
 * clock was set back, since no heartbeat sets one.
 */
export const isLive = sql<boolean>`(heartbeat_until > clock_timestamp() and heartbeat_until < clock_timestamp() + interval '1 minute')`

/** The facts about a process that others may read. */
export interface ProcessFacts {
  roles: readonly string[]
  host: string
  /** The release that the process runs. */
  version: string
}

/** Work of a process that follows accounts. The others decide by it which accounts are theirs. */
export interface Load {
  accounts: number
  weight: number
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
 * The right of this process to own rows, such as accounts: a row of `instance` that a heartbeat keeps alive. Others
 * judge it by the database's clock, this process by its monotonic clock. A lapsed lease is never renewed.
 */
export class Lease implements AsyncDisposable {
  readonly id = newId()
  readonly #log: Logger
  readonly #pace: LeasePace
  /** Not from the pool, so that a busy pool never stops the heartbeat. */
  readonly #connection: TimedConnection
  readonly #stop = new AbortController()
  readonly #lapse = new AbortController()
  #fence: NodeJS.Timeout | undefined
  #beating: Promise<void> = Promise.resolve()
  #load: Load | null = null
  readonly #hasNews = new Nudge()

  private constructor({ address, log, pace = LEASE_PACE }: LeaseOptions) {
    this.#log = log
    this.#pace = pace
    this.#connection = new TimedConnection(address, 'waxwing lease', pace.answerSeconds)
  }

  /** Rejects if the database does not answer in time. */
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

  /** Aborts when the lease may no longer be relied on, because others may soon own what this process owned. */
  get lapsed(): AbortSignal {
    return this.#lapse.signal
  }

  /** Shows the others what this process follows; null: nothing, and it wants nothing. The next heartbeat comes at once. */
  report(load: Load | null): void {
    if (load?.accounts === this.#load?.accounts && load?.weight === this.#load?.weight) return
    this.#load = load
    this.#hasNews.fire()
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
      `insert into instance (id, heartbeat_until, heartbeat_at, roles, host, version)
      values ($1, clock_timestamp() + make_interval(secs => $2), clock_timestamp(), $3, $4, $5)`,
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
      const waitsSince = performance.now()
      await pause(wait * 1_000, ended, this.#hasNews.signal)
      const tooEarly = waitsSince + Math.min(wait, REPORT_SECONDS) * 1_000 - performance.now()
      if (tooEarly > 0) await pause(tooEarly, ended)
      if (ended.aborted) return
      this.#hasNews.clear()
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
      `update instance set heartbeat_until = clock_timestamp() + make_interval(secs => $2),
        heartbeat_at = clock_timestamp(), accounts = $3, weight = $4
      where id = $1 and heartbeat_until > clock_timestamp() returning id`,
      [this.id, this.#pace.leaseSeconds, this.#load?.accounts ?? null, this.#load?.weight ?? null],
    )
    if (renewed.length > 0) this.#armFence(startedAt)
    else this.#end(this.#lapse)
  }

  /** Uses a timer of its own, which waits for no statement. */
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
      // Rows that could not be released have no owner from now on.
      await this.#connection.query('delete from instance where id = $1', [this.id])
    } catch (error) {
      this.#log.warn({ error }, 'Could not end the lease; it will expire by itself')
    }
    this.#connection[Symbol.dispose]()
  }
}
