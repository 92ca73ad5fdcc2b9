import { DatabaseError } from 'pg'
import type { Db } from '../../../database/pool.ts'
import { DatabaseUnavailable } from '../../../database/unavailable.ts'
import type { Lease } from '../../../processes/lease.ts'
import { pause } from '../../../processes/nudge.ts'
import type { Logger } from '../../../kit/log.ts'
import type { Semaphore } from '../../../kit/semaphore.ts'
import { putOffEndpoints } from './due-endpoints.ts'
import { recordAttempts, type RecordedAttempts } from './record-attempts.ts'
import { type AttemptResult } from './attempt-result.ts'

const RESULTS_AT_ONCE = 500
const RETRY_MILLISECONDS = 200
const RETRY_MILLISECONDS_MAX = 10_000
/** A result that the database refuses this often, alone, is left out. */
const REFUSALS_MAX = 3
/** PostgreSQL's classes of errors that are about its state: deadlocks, a full disk, locks, a stop, the system. */
const PASSING_CODES = /^(?:40|53|55|57|58)/

const NOTHING_RECORDED: RecordedAttempts = { failing: new Set(), disabled: [], doubtedIds: new Set() }

export interface AttemptRecordsOptions {
  db: Db
  log: Logger
  turn: Semaphore
  /** Returns the endpoints of these results that have no other attempt running. None is claimed for until `onRecorded`. */
  takeIdle(results: readonly AttemptResult[]): string[]
  onRecorded(
    results: readonly AttemptResult[],
    recorded: RecordedAttempts,
    idleIds: readonly string[],
  ): Promise<void>
}

/**
 * Records the ends of attempts, and tries until that succeeds. Ends that come together share a transaction. If the
 * database refuses them, they are recorded one by one, so that one of them does not hold up the others.
 */
export class AttemptRecords implements AsyncDisposable {
  readonly #options: AttemptRecordsOptions
  readonly #waiting: Array<{ lease: Lease; result: AttemptResult }> = []
  readonly #stop = new AbortController()
  #writing: Promise<void> | null = null

  constructor(options: AttemptRecordsOptions) {
    this.#options = options
  }

  add(lease: Lease, result: AttemptResult): void {
    this.#waiting.push({ lease, result })
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = null))
  }

  /**
   * Tries once more to record the rest. Deliveries whose records are lost then are attempted again by the next process.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    let retry = RETRY_MILLISECONDS
    // The number of results to record one by one, and of refusals of the first of them.
    let single = 0
    let refusals = 0
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      const { lease } = first
      const end = this.#waiting.findIndex(one => one.lease !== lease)
      const together = Math.min(end === -1 ? this.#waiting.length : end, RESULTS_AT_ONCE)
      const count = single > 0 ? 1 : together
      const isLast = this.#stop.signal.aborted
      const outcome = await this.#write(lease, count)
      if (outcome === 'refused' && count > 1) single = count
      else if (outcome === 'recorded' || (outcome === 'refused' && ++refusals === REFUSALS_MAX)) {
        if (outcome === 'refused') await this.#leaveOut(first)
        single = Math.max(0, single - 1)
        refusals = 0
        retry = RETRY_MILLISECONDS
      } else if (isLast) return
      else {
        await pause(retry, this.#stop.signal)
        retry = Math.min(2 * retry, RETRY_MILLISECONDS_MAX)
      }
    }
  }

  async #write(lease: Lease, count: number): Promise<'recorded' | 'refused' | 'failed'> {
    const { db, log, turn, takeIdle, onRecorded } = this.#options
    const results = this.#waiting.slice(0, count).map(({ result }) => result)
    const idleIds = takeIdle(results)
    try {
      const written = await turn.take(async () => {
        const recorded = await recordAttempts(db, { lease, results, idleIds })
        this.#waiting.splice(0, count)
        await onRecorded(results, recorded, idleIds)
        return 'recorded' as const
      })
      return written ?? 'failed'
    } catch (error) {
      log.warn({ error, count }, 'Webhook attempts could not be recorded; that is tried again')
      return isPassing(error) ? 'failed' : 'refused'
    }
  }

  /** The delivery stays as it was, and its endpoint is put off, so that it is not posted again and again. */
  async #leaveOut({ lease, result }: { lease: Lease; result: AttemptResult }): Promise<void> {
    const { db, log, turn, takeIdle, onRecorded } = this.#options
    const { endpointId, eventId } = result.delivery
    log.error({ endpointId, eventId }, 'A webhook attempt could not be recorded and is left out')
    const idleIds = takeIdle([result])
    await turn.take(async () => {
      await putOffEndpoints(db, lease, { endpointIds: [endpointId], idleIds }).catch((error: unknown) =>
        log.warn({ error, endpointId }, 'Could not put off a webhook endpoint'),
      )
      this.#waiting.splice(0, 1)
      await onRecorded([result], NOTHING_RECORDED, idleIds)
    })
  }
}

/** Whether the same transaction may succeed later, since its values are not at fault. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable ||
    (error instanceof DatabaseError && PASSING_CODES.test(error.code ?? ''))
  )
}
