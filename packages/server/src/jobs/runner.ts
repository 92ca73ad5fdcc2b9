import { Logger as WorkerLogger, parseCronItems, run } from 'graphile-worker'
import { runAlone } from '../database/alone.ts'
import { type DatabaseAddress, type Db, openDatabase } from '../database/pool.ts'
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
/**
 * The library listens on one connection and uses one for its schedule and one for each task that runs. They are in a
 * pool of their own: it gives a client back whose statement took too long, with the statement still under way.
 */
const CONNECTIONS_MAX = CONCURRENCY + 2
/** After that a stop interrupts what runs. */
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
    // Also kept out of the library's log, which knows nothing of what may be written.
    log.error({ task: task.name, error }, 'Background job failed; its next turn goes on')
  }
}
