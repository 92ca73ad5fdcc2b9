import { Logger as WorkerLogger, parseCronItems, run } from 'graphile-worker'
import type { Pool } from 'pg'
import { runAlone } from '../database/alone.ts'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'

/** Work that is done again and again. It can be interrupted anywhere, and goes on where it was when it runs next. */
export interface RecurringTask {
  /** Lower-case words with underscores, as it is stored. */
  name: string
  /** When, as five fields of cron in UTC. */
  schedule: string
  /** To return soon after the signal. */
  run(signal: AbortSignal): Promise<void>
}

/** A schema of the library's own, which it migrates by itself. */
const SCHEMA = 'graphile_worker'
const CONCURRENCY = 2
const POLL_SECONDS = 5
/** After that a stop interrupts what runs. */
const GRACE_SECONDS = 5

/**
 * Runs the tasks on their schedules, each in one process of the installation at a time. Disposing waits for what runs.
 * The pool needs an error handler of its own.
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
    // Signals are main's business: it stops what takes requests first.
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
        // The next turn is the retry: whatever is missed or fails is done then.
        options: { maxAttempts: 1, backfillPeriod: 0 },
      })),
    ),
  })
  // A runner that fails ends by itself; `stop` of one that ended rejects.
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
    // Also kept out of the library's log, which knows nothing of what may be written.
    log.error({ task: task.name, error }, 'Background job failed; its next turn goes on')
  }
}
