import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { Connections } from '../connections/connections.ts'
import type { Db } from '../database/pool.ts'
import type { Waker, Wakes } from '../database/wake.ts'
import type { News } from '../events/news.ts'
import type { BlobStore } from '../kit/blobs/blob-store.ts'
import type { Clock } from '../kit/clock.ts'
import type { TargetGuard } from '../kit/egress/target-guard.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import type { Logger } from '../kit/log.ts'
import type { ReachPoint } from '../kit/reach-point.ts'
import type { Limits } from '../limits/limits.ts'
import type { Instance } from '../processes/instance.ts'
import type { Pulse } from '../processes/pulse.ts'
import type { ServerSearch } from '../providers/discovery.ts'
import type { DeleteSubscription } from '../providers/kept-subscription.ts'
import type { ServerCheck } from '../providers/mail-server.ts'
import type { SignIns } from '../providers/sign-in.ts'

/** Resources of the installation and of this process for every wing. A wing takes those that it uses. */
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
  /** Sends wakes to the workers of all processes; `wakes` receives them. */
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
  /** Deletes subscriptions of accounts that are no longer followed. */
  deleteSubscription: DeleteSubscription
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
