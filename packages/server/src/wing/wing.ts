import type { AnyRouter } from '@orpc/server'
import type { HostedSessionKind } from '@waxwing/contract/operation.ts'
import type { Metric } from 'prom-client'
import type { OwnedBlobs } from './owned-blobs.ts'
import type { PurgeStep } from './purge-step.ts'
import type { HostedSessions } from './hosted-session.ts'
import type { PublicRoute } from '../pages/public-route.ts'
import type { Counts } from './counts.ts'
import type { JobHandler } from '../jobs/job-worker.ts'
import type { RecurringTask } from '../jobs/recurring-tasks.ts'
import type { StoredTimes } from '../jobs/stored-times.ts'
import type { Follower } from '../sync/follower.ts'

/** Parts of all wings, for tasks that work on what any wing keeps. */
export interface Registered {
  purgeSteps: readonly PurgeStep[]
  ownedBlobs: readonly OwnedBlobs[]
}

/**
 * The parts that a wing brings to the service. `features/<wing>/wing.ts` makes it, `wings.ts` lists it, and `start/`
 * puts each part to work in the processes whose role it belongs to. A wing leaves out what it does not have.
 */
export interface Wing {
  /** Role `api`: its operations, by section of the contract. */
  operations?: Record<string, AnyRouter>
  /** Role `api`: counts what plans limit. */
  counts?: Partial<Counts>
  /** Role `api`: finds the sessions of its hosted operations. */
  hostedSessions?: Partial<Record<HostedSessionKind, HostedSessions>>
  /** Role `api`: its routes outside `/v1`, such as `/u/{token}`. */
  publicRoutes?: readonly PublicRoute[]
  /** Role `jobs`: work on a schedule. Is given what all wings have registered. */
  recurringTasks?(registered: Registered): readonly RecurringTask[]
  /** Role `jobs`: runs the jobs that the wing enqueues. */
  jobHandlers?: readonly JobHandler[]
  /**
   * Role `jobs`: starts its loops. Each goes onto the stack, which is disposed when the process begins to stop: a loop
   * then takes nothing new and waits for what is under way, within a bound of its own. Everything that it uses is open
   * until it has ended.
   */
  startWorkers?(workers: AsyncDisposableStack): void
  /** Role `jobs`: times in its tables that mean nothing if the clock of the database was ahead when they were set. */
  storedTimes?: readonly StoredTimes[]
  /** Role `jobs`: metrics of the whole installation. Metrics of one process register themselves. */
  gauges?: readonly Metric[]
  /** Role `jobs`: deletes everything that the wing keeps of an account. Later wings come first. */
  purgeStep?: PurgeStep
  /** Role `jobs`: finds the objects of the blob store that belong to the wing. Others are removed. */
  ownedBlobs?: OwnedBlobs
  /** Role `sync`: follows what the wing keeps of accounts. */
  follower?: Follower
}
