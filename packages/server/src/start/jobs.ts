import type { Registry } from 'prom-client'
import { sweepSlots } from '../connections/kinds/slot-table.ts'
import { sweepQuotaUse } from '../connections/kinds/quota-use.ts'
import type { Db } from '../database/pool.ts'
import type { Wakes } from '../database/wake.ts'
import { ANSWER_TIMES, deleteExpiredAnswers, purgeAnswers } from '../door/idempotency.ts'
import { isClaimed } from '../processes/claims.ts'
import type { Instance } from '../processes/instance.ts'
import { JobWorker } from '../jobs/job-worker.ts'
import type { Pulse } from '../processes/pulse.ts'
import { type RecurringTask, RecurringTasks } from '../jobs/recurring-tasks.ts'
import { hourlyAt } from '../jobs/schedule.ts'
import { type StoredTimes, startVoidingTimes } from '../jobs/stored-times.ts'
import type { Logger } from '../kit/log.ts'
import { sweepRateWindows } from '../limits/table-windows.ts'
import type { Wing } from '../wing/wing.ts'

export interface JobsRoleOptions {
  db: Db
  instance: Instance
  pulse: Pulse
  wakes: Wakes
  wings: readonly Wing[]
  metrics: Registry
  log: Logger
}

/**
 * The role `jobs`: background work of the whole installation. Disposing stops all of it at the same time, and waits for
 * what is under way.
 */
export async function startJobsRole(options: JobsRoleOptions): Promise<AsyncDisposable> {
  const { db, instance, pulse, wakes, wings, metrics, log } = options
  for (const gauge of wings.flatMap(({ gauges = [] }) => gauges)) metrics.registerMetric(gauge)

  await using opened = new AsyncDisposableStack()
  const tasks = opened.use(new RecurringTasks({ db, instance, pulse, tasks: recurringTasks(db, wings), log }))
  const handlers = wings.flatMap(({ jobHandlers = [] }) => jobHandlers)
  const worker = opened.use(new JobWorker({ db, instance, pulse, handlers, log }))
  const wake = () => {
    worker.wake()
    tasks.wake()
  }
  wakes.on(['waxwing_job'], { onWake: wake, onListening: wake })
  const times = opened.use(await startVoidingTimes({ db, pulse, log, times: storedTimes(wings) }))
  const started = wings.map(wing => {
    const workers = opened.use(new AsyncDisposableStack())
    wing.startWorkers?.(workers)
    return workers
  })
  const running = opened.move()
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all([tasks, worker, times, ...started].map(each => each[Symbol.asyncDispose]()))
      await running.disposeAsync()
    },
  }
}

/** Times in the tables of all wings and rooms. */
export function storedTimes(wings: readonly Pick<Wing, 'storedTimes'>[]): StoredTimes[] {
  return [
    ...wings.flatMap(({ storedTimes: ofWing = [] }) => ofWing),
    ANSWER_TIMES,
    { table: 'blob_upload', past: ['created_at'] },
    { table: 'event_follower', waits: { due_at: { setAt: 'due_set_at' } } },
    { table: 'job', waits: { due_at: { setAt: 'due_set_at' } } },
  ]
}

function recurringTasks(db: Db, wings: readonly Wing[]): RecurringTask[] {
  // Rows of later wings refer to those of earlier ones.
  const purgeSteps = [
    (accountId: string, signal: AbortSignal) => purgeAnswers(db, accountId, signal),
    ...wings.toReversed().flatMap(({ purgeStep }) => purgeStep ?? []),
  ]
  const ownedBlobs = wings.flatMap(wing => wing.ownedBlobs ?? [])
  return [
    ...wings.flatMap(wing => wing.recurringTasks?.({ purgeSteps, ownedBlobs }) ?? []),
    { name: 'sweep_answers', schedule: hourlyAt(37), run: signal => deleteExpiredAnswers(db, signal) },
    { name: 'sweep_rate_windows', schedule: hourlyAt(53), run: () => sweepRateWindows(db) },
    { name: 'sweep_quota_use', schedule: hourlyAt(59), run: () => sweepQuotaUse(db) },
    { name: 'sweep_slots', schedule: hourlyAt(58), run: () => sweepSlots(db, isClaimed) },
  ]
}
