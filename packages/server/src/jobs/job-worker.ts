import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import type { JobKind } from './enqueue.ts'
import type { Instance } from '../processes/instance.ts'
import { isFree } from '../processes/claims.ts'
import type { Lease } from '../processes/lease.ts'
import type { Pulse } from '../processes/pulse.ts'
import { WokenLoop } from '../processes/woken-loop.ts'

const JOBS_AT_ONCE = 4
/** Some jobs wait for a mail server. */
const JOBS_OF_ONE_TENANT = 3
/** The pulse and wakes find what is due; this poll is only a safeguard. */
const POLL_SECONDS = 30
/** The pause after a failure begins at one second and doubles up to this. */
const RETRY_SECONDS_MAX = 3600
const RETRY_DOUBLINGS = 12
/** A job that takes longer is told to stop and counts as failed. */
const JOB_SECONDS_MAX = 3600
/** With pauses of up to an hour, a job is retried for about four days before it is given up. */
const ATTEMPTS_MAX = 100

/** Runs the jobs of one kind. */
export interface JobHandler {
  kind: string
  run(stored: unknown, job: RunningJob): Promise<void>
}

export interface RunningJob {
  tenantId: string
  /**
   * Aborts when the process stops, when it may no longer hold the job, or after an hour. The job must return soon
   * after.
   */
  signal: AbortSignal
}

/**
 * Creates the handler of a kind of job. `work` may run again after it has succeeded, so a repetition must do no harm.
 */
export function jobHandler<Payload>(
  kind: JobKind<Payload>,
  work: (payload: Payload, job: RunningJob) => Promise<void>,
): JobHandler {
  return { kind: kind.name, run: (stored, job) => work(kind.parse(stored), job) }
}

interface ClaimedJob {
  id: string
  tenant_id: string
  kind: string
  payload: unknown
  attempts: number
}

export interface JobWorkerOptions {
  db: Db
  instance: Instance
  pulse: Pulse
  handlers: readonly JobHandler[]
  log: Logger
}

/**
 * Runs enqueued jobs, several at a time. A job is claimed under the lease of the process; if that dies, another process
 * runs the job again. A claim counts as an attempt and sets the time of the next one. Jobs of suspended tenants wait.
 */
export class JobWorker implements AsyncDisposable {
  readonly #options: JobWorkerOptions
  readonly #handlers: ReadonlyMap<string, JobHandler>
  readonly #running = new Map<string, { tenantId: string; ended: Promise<void> }>()
  readonly #loop: WokenLoop

  constructor(options: JobWorkerOptions) {
    this.#options = options
    this.#handlers = new Map(options.handlers.map(handler => [handler.kind, handler]))
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      listen: wake => options.pulse.ask({ isDue: () => this.#isDue(), onDue: wake }),
      failure: 'Could not look for jobs',
      log: options.log,
    })
  }

  /** Announces that jobs were enqueued. Returns at once and never throws. */
  wake(): void {
    this.#loop.wake()
  }

  /** Signals running jobs to stop, and waits for them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  #isDue() {
    const kinds = [...this.#handlers.keys()]
    return sql<boolean>`exists (
      select from job where due_at <= clock_timestamp() and kind = any(${kinds}::text[])
        and tenant_id not in (select id from tenant where suspended_at is not null)
    )`
  }

  async #look(signal: AbortSignal): Promise<number> {
    // The end of a job wakes the loop.
    while (this.#running.size < JOBS_AT_ONCE && this.#handlers.size > 0) {
      const lease = await this.#options.instance.awaitLease(signal)
      const job = await this.#claim(lease)
      if (!job) break
      const ended = this.#take(job, lease, signal).finally(() => {
        this.#running.delete(job.id)
        this.#loop.wake()
      })
      this.#running.set(job.id, { tenantId: job.tenant_id, ended })
    }
    return POLL_SECONDS
  }

  /** The tenants of which no further job may run here. */
  #listFull(): string[] {
    const jobs = Map.groupBy(this.#running.values(), ({ tenantId }) => tenantId)
    return [...jobs].flatMap(([tenantId, { length }]) => (length >= JOBS_OF_ONE_TENANT ? tenantId : []))
  }

  /**
   * Claims a job, also of a dead process, or one that the table assigns to this process but that it does not run.
   */
  async #claim(lease: Lease): Promise<ClaimedJob | undefined> {
    const { rows } = await sql<ClaimedJob>`
      update job set claimed_by = ${lease.id}, attempts = attempts + 1,
        due_at = clock_timestamp()
          + make_interval(secs => least(2 ^ least(attempts, ${RETRY_DOUBLINGS}), ${RETRY_SECONDS_MAX}))
      where id in (
        select id from job
        where due_at <= clock_timestamp() and kind = any(${[...this.#handlers.keys()]}::text[])
          and not id = any(${[...this.#running.keys()]}::uuid[]) and ${isFree('claimed_by', lease)}
          and tenant_id not in (select id from tenant where suspended_at is not null)
          and not tenant_id = any(${this.#listFull()}::uuid[])
        order by due_at limit 1 for update skip locked
      )
      returning id, tenant_id, kind, payload, attempts
    `.execute(this.#options.db)
    return rows[0]
  }

  /** Never rejects: a job whose outcome cannot be stored is claimed again when it is due. */
  async #take(job: ClaimedJob, lease: Lease, stopped: AbortSignal): Promise<void> {
    const { log } = this.#options
    const { id: jobId, tenant_id: tenantId, kind, attempts: attempt } = job
    const fields = { jobId, tenantId, kind, attempt }
    try {
      const late = AbortSignal.timeout(JOB_SECONDS_MAX * 1_000)
      const outcome = await this.#run(job, AbortSignal.any([stopped, lease.lapsed, late]))
      if (outcome.isDone) return await this.#delete(job, lease)
      if (stopped.aborted && !lease.lapsed.aborted) return await this.#giveBack(job, lease)
      if (attempt < ATTEMPTS_MAX) {
        log.warn({ ...fields, error: outcome.error }, 'A job failed and will be retried')
        return await this.#release(job, lease)
      }
      log.error({ ...fields, error: outcome.error }, 'A job failed too often and was given up')
      await this.#delete(job, lease)
    } catch (error) {
      log.warn({ ...fields, error }, 'The outcome of a job could not be stored, so it may run again')
    }
  }

  async #run(job: ClaimedJob, signal: AbortSignal): Promise<{ isDone: boolean; error?: unknown }> {
    // Only a process that died during the last attempt leaves such a job.
    if (job.attempts > ATTEMPTS_MAX) return { isDone: false, error: new Error('its process died') }
    try {
      // The process may have been told to stop while it claimed the job.
      signal.throwIfAborted()
      await this.#handlers.get(job.kind)?.run(job.payload, { tenantId: job.tenant_id, signal })
      return { isDone: true }
    } catch (error) {
      return { isDone: false, error }
    }
  }

  async #delete({ id }: ClaimedJob, lease: Lease): Promise<void> {
    await sql`delete from job where id = ${id} and claimed_by = ${lease.id}`.execute(this.#options.db)
  }

  async #release({ id }: ClaimedJob, lease: Lease): Promise<void> {
    await sql`update job set claimed_by = null where id = ${id} and claimed_by = ${lease.id}`.execute(
      this.#options.db,
    )
  }

  /** Returns a job that the stop of the process interrupted. That is not a failure of the job. */
  async #giveBack({ id }: ClaimedJob, lease: Lease): Promise<void> {
    await sql`
      update job set claimed_by = null, attempts = attempts - 1, due_at = clock_timestamp()
      where id = ${id} and claimed_by = ${lease.id}
    `.execute(this.#options.db)
  }
}
