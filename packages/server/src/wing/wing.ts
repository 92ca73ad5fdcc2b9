import type { AnyRouter } from '@orpc/server'
import type { HostedSessionKind } from '@waxwing/contract/operation.ts'
import type { Metric, Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { Connections } from '../connections/connections.ts'
import type { Db } from '../database/pool.ts'
import type { Waker, Wakes } from '../database/wake.ts'
import type { News } from '../events/news.ts'
import type { PurgeStep } from '../features/accounts/accounts/purge.ts'
import type { HostedSessions } from './hosted-session.ts'
import type { PublicRoute } from '../pages/public-route.ts'
import type { PushReceiver } from './push-receiver.ts'
import type { Counts } from './counts.ts'
import type { Instance } from '../processes/instance.ts'
import type { JobHandler } from '../jobs/job-worker.ts'
import type { Pulse } from '../processes/pulse.ts'
import type { RecurringTask } from '../jobs/recurring-tasks.ts'
import type { StoredTimes } from '../jobs/stored-times.ts'
import type { BlobStore } from '../kit/blobs/blob-store.ts'
import type { TargetGuard } from '../kit/egress/target-guard.ts'
import type { Clock } from '../kit/clock.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import type { Logger } from '../kit/log.ts'
import type { ReachPoint } from '../kit/reach-point.ts'
import type { Limits } from '../limits/limits.ts'
import type { ServerSearch } from '../providers/discovery.ts'
import type { ServerCheck } from '../providers/mail-server.ts'
import type { PushTokens } from '../providers/push-tokens.ts'
import type { SignIns } from '../providers/sign-in.ts'
import type { Follower } from '../sync/follower.ts'

/**
 * What a wing brings to the service. `features/<wing>/wing.ts` makes it, `wings.ts` lists it, and `start/` puts each
 * part to work in the processes whose role it belongs to. A wing leaves out what it does not have.
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
  /** Role `api`: takes pushes of providers. */
  pushes?: readonly PushReceiver[]
  /** Role `jobs`: work on a schedule. Is given what all wings have registered. */
  recurringTasks?(registered: { purgeSteps: readonly PurgeStep[] }): readonly RecurringTask[]
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
  /** Role `jobs`: metrics of the whole installation. Those of one process register themselves. */
  gauges?: readonly Metric[]
  /** Role `jobs`: deletes everything that the wing keeps of an account. Later wings come first. */
  purgeStep?: PurgeStep
  /** Role `sync`: follows what the wing keeps of accounts. */
  follower?: Follower
}

/** What the installation and this process offer to every wing. A wing takes what it uses. */
export interface Resources {
  db: Db
  keyRing: KeyRing
  config: Config
  /** The address at which users and providers reach the API. Known once the API listens. */
  baseUrl(): string
  log: Logger
  clock: Clock
  metrics: Registry
  /** This process among others, with the lease under which workers claim rows. */
  instance: Instance
  /** Asks what is due, for the loops of this process. */
  pulse: Pulse
  /** Sends wakes to the workers of all processes; `wakes` hears them. */
  waker: Waker
  wakes: Wakes
  /** Reports new events, whichever process committed them. */
  news: News
  /** Where this process counts what is limited. */
  limits: Limits
  /** Reaches the providers of accounts. */
  connections: Connections
  /** Checks logins to servers that a caller names. */
  servers: ServerCheck
  /** The providers that users can sign in to by OAuth. */
  signIns: SignIns
  /** Checks who signed a push of Google. */
  pushTokens: PushTokens
  /** Finds the servers of an address. */
  serverSearch: ServerSearch
  /** Checks the URLs to which events are posted. */
  targets: TargetGuard
  blobs: BlobStore
  /** Called at moments at which a test may end the process. */
  reachPoint: ReachPoint
  /** Closes what a wing opens, the last first, after the requests and the workers have ended. */
  opened: AsyncDisposableStack
}
