import type { Registry } from 'prom-client'
import type { Config } from './config.ts'
import type { AutoconfigPlaces } from './connections/outside.ts'
import { findInstallationId } from './database/installation-id.ts'
import type { Migration } from './database/migration-file.ts'
import type { App } from './http/app.ts'
import { createMetricsApp } from './http/health.ts'
import { listen } from './http/listen.ts'
import type { Overload } from './door/overload.ts'
import type { Clock } from './kit/clock.ts'
import { systemClock } from './kit/clock.ts'
import type { Resolver } from './kit/egress/guard.ts'
import type { Logger } from './kit/log.ts'
import { passPoints, type ReachPoint } from './kit/reach-point.ts'
import { openMetrics } from './kit/metrics.ts'
import { type Installation, openInstallation } from './start/database.ts'
import { type Drain, NO_DRAIN } from './start/api.ts'
import { createReadiness } from './start/readiness.ts'
import { type Role, startRoles } from './start/roles.ts'
import type { SyncPace } from './start/sync.ts'
import { askForTroubles } from './sync/overview.ts'

/** The running service. Disposing it is `stop()`. */
export interface Service extends AsyncDisposable {
  /** Where the API listens, such as `http://127.0.0.1:8025`; null in a process without the role `api`. */
  address: string | null
  /** Takes no new work, lets what is under way finish, and closes everything. */
  stop(options?: StopOptions): Promise<void>
  /** For a process that ends at once: asks the embedded database to end, too, without waiting for it. */
  abandon(): Promise<void>
}

/** How long a stop takes at most, before it closes everything; no time by default. */
export interface StopOptions {
  drain?: Drain
  /**
   * Before the drain, requests are still taken for this long. `/health/ready` is 503 meanwhile, for load balancers to
   * look elsewhere, and answers close their connections, for clients to open new ones.
   */
  noticeSeconds?: number
}

export interface ServiceOptions {
  log: Logger
  /** Called once the service runs, with where people find it. The service is ready when this is done. */
  onRunning?: (installation: Installation, baseUrl: string) => Promise<void>
  /** Called when the embedded database is lost for good, or the schema no longer serves this release. */
  onLost?: (error: unknown) => void
  clock?: Clock
  /** Finds the addresses of mail servers; the system's resolver by default. */
  resolve?: Resolver
  /** Where the servers of an address are looked for; in the world by default. */
  autoconfig?: AutoconfigPlaces
  /** Checks every answer against the contract, which is too slow for production. */
  isStrict?: boolean
  /** Where metrics are registered; in a registry of its own by default. */
  metrics?: Registry
  /** In place of what watches this process, for tests, which share theirs with much else. */
  overload?: Overload
  /** For tests, which are more impatient. */
  pace?: SyncPace
  /** Called at moments at which a test may end the process. */
  reachPoint?: ReachPoint
  /** In place of those of this release, for tests. */
  migrations?: Migration[]
}

/** Starts the service on the data that the settings name. Rejects, with everything closed again, where it cannot. */
export async function startService(config: Config, options: ServiceOptions): Promise<Service> {
  const { log, onLost, migrations } = options
  const installation = await openInstallation({ config, as: 'service', log, onLost, migrations })
  return startOn(installation, config, options).catch(async (error: unknown) => {
    await installation[Symbol.asyncDispose]()
    throw error
  })
}

/** Starts the service on an installation that is open already, and closes it at the end. */
export async function startOn(
  installation: Installation,
  config: Config,
  options: Omit<ServiceOptions, 'log'>,
): Promise<Service> {
  const { onRunning, clock = systemClock, resolve, autoconfig = {}, pace = {}, overload } = options
  const { reachPoint = passPoints, metrics = openMetrics() } = options
  const { database, log } = installation
  const readiness = createReadiness(database, { metrics, log })
  let isStarting = true
  readiness.include(() => (isStarting ? 'it is starting' : null))
  const isStrict = options.isStrict ?? false
  const shared = { config, installation, metrics, readiness, log, clock, isStrict }

  await using opened = new AsyncDisposableStack()
  if (config.metricsPort > 0) {
    const installationId = await findInstallationId(database.pool)
    const { findProblems } = readiness
    const findTroubles = config.roles.includes('sync') ? askForTroubles(database.db) : null
    const app = createMetricsApp({ metrics, findProblems, installationId, findTroubles })
    opened.use(await listenForMetrics(app, config))
  }
  const outside = { resolve, autoconfig }
  const roles = opened.use(await startRoles({ ...shared, ...outside, overload, pace, reachPoint }))
  await onRunning?.(installation, config.baseUrl ?? roles.address ?? 'the API')
  isStarting = false
  announce(config, roles.address, log)
  const running = opened.move()

  let stopping: Promise<void> | null = null
  async function stop({ drain = NO_DRAIN, noticeSeconds = 0 }: StopOptions = {}) {
    // The last in is closed first, and the database in any case.
    await using closing = new AsyncDisposableStack()
    closing.use(installation)
    closing.use(running)
    await readiness.turnOff(noticeSeconds)
    await roles.drain(drain)
    await closing.disposeAsync()
    log.info('Stopped')
  }
  return {
    address: roles.address,
    stop: timing => (stopping ??= stop(timing)),
    abandon: () => installation.abandon(),
    [Symbol.asyncDispose]: () => (stopping ??= stop()),
  }
}

async function listenForMetrics(app: App, { metricsHost: host, metricsPort: port }: Config) {
  const listener = await listen(app, { host, port }, { hostSetting: 'WAXWING_METRICS_HOST' })
  return { [Symbol.asyncDispose]: () => listener.close({ deadlineMilliseconds: 0 }) }
}

function announce(config: Config, address: string | null, log: Logger) {
  const { roles, egressAllow, allowPlaintext, webhookAllow, webhookAllowHttp } = config
  log.info({ names: roles satisfies Role[], ...(address ? { address } : {}) }, 'Waxwing is running')
  if (egressAllow.length > 0) log.warn({ names: egressAllow }, 'Private mail servers may be reached')
  if (allowPlaintext) log.warn('Mail servers may be used without TLS')
  if (webhookAllow.length > 0) log.warn({ names: webhookAllow }, 'Private targets of webhooks may be reached')
  if (webhookAllowHttp) log.warn('Webhooks may use plain HTTP to the targets that are allowed')
}
