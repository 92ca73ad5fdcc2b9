import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import type { Instance } from '../processes/instance.ts'
import { isFree } from '../processes/claims.ts'
import type { Lease } from '../processes/lease.ts'
import { pause } from '../processes/nudge.ts'
import type { Pulse } from '../processes/pulse.ts'
import type { Schedule } from './schedule.ts'
import { WokenLoop } from '../processes/woken-loop.ts'

/** Work that recurs on a schedule. It can be interrupted anywhere and continues at its next run. */
export interface RecurringTask {
  /** Lower-case words with underscores. Stored in the table. */
  name: string
  schedule: Schedule
  /** Does the work. Must return soon after the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

const TASKS_AT_ONCE = 2
/** The pulse finds what is due; this poll finds times that the database's clock was set back from. */
const POLL_SECONDS = 30
/** A task that takes longer is told to stop. */
const TASK_SECONDS_MAX = 3600
/** Longest wait for the tasks that were told to stop. */
const GRACE_SECONDS = 5

export interface RecurringTasksOptions {
  db: Db
  instance: Instance
  pulse: Pulse
  tasks: readonly RecurringTask[]
  log: Logger
}

/**
 * Runs tasks on their schedules, each in one process of the installation at a time. A claim sets the time of the next
 * run, and holds as long as the lease of its process. A task that fails, or whose process dies, runs again at that time;
 * a run that was missed because no process was running is made up once.
 */
export class RecurringTasks implements AsyncDisposable {
  readonly #options: RecurringTasksOptions
  readonly #running = new Map<string, Promise<void>>()
  readonly #loop: WokenLoop
  #isRegistered = false

  constructor(options: RecurringTasksOptions) {
    this.#options = options
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      listen: wake => options.pulse.ask({ isDue: () => this.#isDue(), onDue: wake }),
      failure: 'Could not look for recurring tasks',
      log: options.log,
    })
  }

  /** Announces that a task may be due earlier than planned. Returns at once and never throws. */
  wake(): void {
    this.#loop.wake()
  }

  /** Signals running tasks to stop, and waits for them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    const ended = new AbortController()
    const all = Promise.all(this.#running.values()).then(() => ended.abort())
    await Promise.race([all, pause(GRACE_SECONDS * 1_000, ended.signal)])
    for (const task of this.#running.keys())
      this.#options.log.warn({ task }, 'A recurring task did not stop in time')
  }

  #isDue() {
    const names = this.#options.tasks.map(({ name }) => name)
    return sql<boolean>`exists (
      select from recurring_task where due_at <= clock_timestamp() and name = any(${names}::text[])
    )`
  }

  async #look(signal: AbortSignal): Promise<number> {
    const { tasks, instance } = this.#options
    const room = TASKS_AT_ONCE - this.#running.size
    // The end of a task wakes the loop.
    if (room === 0 || tasks.length === 0) return POLL_SECONDS
    const lease = await instance.awaitLease(signal)
    if (!this.#isRegistered) await this.#register()
    const claimed = new Set(await this.#claim(lease, room))
    for (const task of tasks.filter(({ name }) => claimed.has(name))) {
      const ended = this.#run(task, lease, signal).finally(() => {
        this.#running.delete(task.name)
        this.#loop.wake()
      })
      this.#running.set(task.name, ended)
    }
    return POLL_SECONDS
  }

  /** Adds a row for each task that has none. It is first due at its next time. */
  async #register(): Promise<void> {
    await sql`
      insert into recurring_task (name, due_at) select name, ${NEXT_TIME} from ${this.#tasks()}
      on conflict do nothing
    `.execute(this.#options.db)
    this.#isRegistered = true
  }

  /**
   * Also claims the tasks of dead processes, and those that the table assigns to this process but that it does not run.
   * A time more than one interval ahead was set under another schedule, or before the database's clock was set back.
   */
  async #claim(lease: Lease, limit: number): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`
      with due as (
        select recurring_task.name, ${NEXT_TIME} as next_at
        from recurring_task join ${this.#tasks()} using (name)
        where (due_at <= clock_timestamp() or due_at > clock_timestamp() + make_interval(mins => every_minutes))
          and not name = any(${[...this.#running.keys()]}::text[])
          and ${isFree('claimed_by', lease)}
        order by due_at limit ${limit} for update of recurring_task skip locked
      )
      update recurring_task set claimed_by = ${lease.id}, due_at = next_at
      from due where recurring_task.name = due.name
      returning recurring_task.name
    `.execute(this.#options.db)
    return rows.map(({ name }) => name)
  }

  #tasks() {
    const { tasks } = this.#options
    return sql`unnest(
      ${tasks.map(({ name }) => name)}::text[],
      ${tasks.map(({ schedule }) => schedule.everyMinutes)}::int[],
      ${tasks.map(({ schedule }) => schedule.offsetMinutes)}::int[]
    ) as task (name, every_minutes, offset_minutes)`
  }

  /** Never rejects. */
  async #run(task: RecurringTask, lease: Lease, stopped: AbortSignal): Promise<void> {
    const { log } = this.#options
    const startedAt = performance.now()
    try {
      const late = AbortSignal.timeout(TASK_SECONDS_MAX * 1_000)
      await task.run(AbortSignal.any([stopped, lease.lapsed, late]))
      const milliseconds = Math.round(performance.now() - startedAt)
      log.debug({ task: task.name, milliseconds }, 'Recurring task done')
    } catch (error) {
      if (!stopped.aborted)
        log.error({ task: task.name, error }, 'A recurring task failed; it runs again at its next time')
    }
    await this.#release(task, lease)
  }

  /** If this fails, the task is still free for this process, and for every other once the lease has ended. */
  async #release({ name }: RecurringTask, lease: Lease): Promise<void> {
    const { db, log } = this.#options
    try {
      await sql`
        update recurring_task set claimed_by = null where name = ${name} and claimed_by = ${lease.id}
      `.execute(db)
    } catch (error) {
      log.warn({ task: name, error }, 'Could not release a recurring task; it runs at its next time anyway')
    }
  }
}

/** The first time of the schedule of a row of `task` that is yet to come. */
const NEXT_TIME = sql`to_timestamp(
  60 * ((floor((extract(epoch from clock_timestamp()) / 60 - offset_minutes) / every_minutes) + 1) * every_minutes
    + offset_minutes)
)`
