import { Logger as WorkerLogger, parseCronItems, run } from 'graphile-worker'
import type { Pool } from 'pg'
import { runAlone } from '../database/alone.ts'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'

/** Work that recurs on a schedule. It can be interrupted anywhere and continues at its next run. */
export interface RecurringTask {
  /** Lower-case words with underscores. Stored in the table. */
  name: string
  /** Five fields of cron, in UTC. */
  schedule: string
  /** Does the work. Must return soon after the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** The schema of the library, which migrates it. */
const SCHEMA = 'graphile_worker'
const CONCURRENCY = 2
const POLL_SECONDS = 5
/** Seconds after which stopping interrupts the tasks that still run. */
const GRACE_SECONDS = 5

/**
 * Runs the tasks on their schedules, each in one process of the installation at a time. Disposing waits for running
 * tasks. The pool must have its own error handler.
 */
export async function startJobs(options: {
  db: Db
  pool: Pool
  tasks: readonly RecurringTask[]
  log: Logger
}): Promise<AsyncDisposable> {
  const { db, pool, tasks, log } = options
  const stop = new AbortController()
  const runner = await run({
    pgPool: pool,
    schema: SCHEMA,
    concurrency: CONCURRENCY,
    pollInterval: POLL_SECONDS * 1000,
    gracefulShutdownAbortTimeout: GRACE_SECONDS * 1000,
    // `main.ts` handles signals: it stops what takes requests first.
    noHandleSignals: true,
    logger: new WorkerLogger(() => (level, message) => {
      if (level === 'error') log.error(message)
      else if (level === 'warning') log.warn(message)
      else log.debug(message)
    }),
    taskList: Object.fromEntries(
      tasks.map(task => [task.name, () => runTask(db, task, stop.signal, log)] as const),
    ),
    parsedCronItems: parseCronItems(
      tasks.map(({ name, schedule }) => ({
        task: name,
        match: schedule,
        // The next scheduled run is the retry for a missed or failed one.
        options: { maxAttempts: 1, backfillPeriod: 0 },
      })),
    ),
  })
  // A runner that fails ends by itself, and `stop` would then reject.
  let isRunning = true
  const ended = runner.promise
    .catch((error: unknown) => log.error({ error }, 'Background jobs ended'))
    .finally(() => (isRunning = false))
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      if (isRunning) await runner.stop()
      await ended
    },
  }
}

async function runTask(db: Db, task: RecurringTask, signal: AbortSignal, log: Logger): Promise<void> {
  const startedAt = performance.now()
  try {
    const isDone = await runAlone(db, task.name, () => task.run(signal))
    const milliseconds = Math.round(performance.now() - startedAt)
    if (isDone) log.debug({ task: task.name, milliseconds }, 'Background job done')
  } catch (error) {
    // The library must not log it, since it does not know what must be kept out of a log.
    log.error({ task: task.name, error }, 'Background job failed; it retries at its next run')
  }
}
