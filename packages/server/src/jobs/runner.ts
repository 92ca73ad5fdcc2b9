import { Logger as WorkerLogger, parseCronItems, run } from 'graphile-worker'
import { runAlone } from '../database/alone.ts'
import { type DatabaseAddress, type Db, openDatabase } from '../database/pool.ts'
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
/**
 * The library listens on one connection and uses one for its schedule and one for each task that runs. They are in a
 * pool of their own: it gives a client back whose statement took too long, with the statement still under way.
 */
const CONNECTIONS_MAX = CONCURRENCY + 2
/** Long, since the library handles nothing when it gets no connection to mark a task as done: a rejection would go unhandled. */
const CONNECT_SECONDS = 60
/** Seconds after which stopping interrupts the tasks that still run. */
const GRACE_SECONDS = 5

/** Runs the tasks on their schedules, each in one process of the installation at a time. Disposing waits for what runs. */
export async function startRecurringTasks(options: {
  db: Db
  address: DatabaseAddress
  tasks: readonly RecurringTask[]
  log: Logger
}): Promise<AsyncDisposable> {
  const { db, address, tasks, log } = options
  await using opened = new AsyncDisposableStack()
  const { pool } = opened.use(
    openDatabase({
      address,
      applicationName: 'waxwing tasks',
      connectionsMax: CONNECTIONS_MAX,
      connectSeconds: CONNECT_SECONDS,
      keepsIdle: true,
      onIdleError: error => log.warn({ error }, 'A database connection of recurring tasks broke'),
    }),
  )
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
  opened.defer(async () => {
    stop.abort()
    if (isRunning) await runner.stop()
    await ended
  })
  return opened.move()
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
