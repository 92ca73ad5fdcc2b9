import { hostname } from 'node:os'
import type { Registry } from 'prom-client'
import product from '../../package.json' with { type: 'json' }
import type { Config } from '../config.ts'
import type { Role } from '../config/settings.ts'
import { type AutoconfigPlaces, openOutside } from '../connections/outside.ts'
import { openWaker, openWakes } from '../database/wake.ts'
import { openDoor } from '../door/open-door.ts'
import { type Overload, watchOverload } from '../door/overload.ts'
import { openNews } from '../events/news.ts'
import { Instance } from '../processes/instance.ts'
import { LiveProcesses } from '../processes/live-processes.ts'
import { Pulse } from '../processes/pulse.ts'
import { trustAlso } from '../kit/authorities.ts'
import type { Clock } from '../kit/clock.ts'
import type { Resolver } from '../kit/egress/guard.ts'
import type { Logger } from '../kit/log.ts'
import { ownMemory } from '../kit/own-memory.ts'
import type { ReachPoint } from '../kit/reach-point.ts'
import { parseRedisUrl } from '../kit/redis-url.ts'
import { openLimits } from '../limits/open-limits.ts'
import type { Wing } from '../wing/wing.ts'
import type { Resources } from '../wing/resources.ts'
import { openWings } from '../wings.ts'
import { type Api, type Drain, startApi } from './api.ts'
import { openBlobs } from './blobs.ts'
import type { Installation } from './database.ts'
import { startJobsRole } from './jobs.ts'
import type { Readiness } from './readiness.ts'
import { processMetrics } from './process-metrics.ts'
import { findPlayedHosts, findStandIns } from './stand-ins.ts'
import { startSyncRole, type SyncPace } from './sync.ts'

export type { Role }

/** Options with which every role is started. */
export interface RoleOptions {
  config: Config
  installation: Installation
  metrics: Registry
  readiness: Readiness
  log: Logger
  clock: Clock
  resolve: Resolver | undefined
  autoconfig: AutoconfigPlaces
  isStrict: boolean
  /** Used instead of measuring the load of this process. */
  overload: Overload | undefined
  pace: SyncPace
  reachPoint: ReachPoint
}

export interface Roles extends AsyncDisposable {
  address: string | null
  /** Stops taking work, and waits for what is under way. */
  drain(drain: Drain): Promise<void>
}

/** Starts the roles that the settings name, the API last: it answers once everything behind it runs. */
export async function startRoles(options: RoleOptions): Promise<Roles> {
  const { config, installation, metrics, readiness, log, pace } = options
  await using opened = new AsyncDisposableStack()
  let api: Api | null = null
  const baseUrl = () => config.baseUrl ?? localUrl(api?.address ?? `http://${config.host}:${config.port}`)
  const { resources, connectorOf, openPushes, endSending } = await openResources(
    { ...options, baseUrl },
    opened,
  )
  const { wings, operations } = await openWings(resources)

  const { db, instance, pulse, wakes } = resources
  const common = { db, instance, pulse, wakes, wings, metrics, log }
  const workers: AsyncDisposable[] = []
  if (config.roles.includes('jobs')) workers.push(opened.use(await startJobsRole(common)))
  if (config.roles.includes('sync'))
    workers.push(opened.use(await startSyncRole({ ...common, connectorOf, readiness, pace })))
  if (config.roles.includes('api')) {
    const { waitMilliseconds: poolWaitMilliseconds } = installation.database
    const overload =
      options.overload ?? opened.use(watchOverload({ poolWaitMilliseconds, readMemory: ownMemory(), log }))
    const door = await openDoor({
      ...resources,
      hostedSessions: hostedSessionsOf(wings),
      isStrict: options.isStrict,
    })
    api = opened.use(
      await startApi({
        config,
        door,
        operations,
        publicRoutes: wings.flatMap(({ publicRoutes = [] }) => publicRoutes),
        pushes: openPushes(resources),
        limits: resources.limits,
        overload,
        readiness,
        metrics,
      }),
    )
  }
  const running = opened.move()
  return {
    address: api?.address ?? null,
    async drain(drain) {
      // A server that does not answer must not hold up the end: what it was given is looked up by the next process.
      const timer = setTimeout(endSending, drain.handedOverSeconds * 1_000)
      try {
        await Promise.all([api?.close(drain), ...workers.map(worker => worker[Symbol.asyncDispose]())])
      } finally {
        clearTimeout(timer)
      }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** A browser on this machine cannot be sent to the address that means all of them. */
function localUrl(address: string): string {
  return address.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, '//localhost')
}

async function openResources(
  options: RoleOptions & Pick<Resources, 'baseUrl'>,
  opened: AsyncDisposableStack,
) {
  const { config, installation, metrics, log, clock, resolve, autoconfig, pace, reachPoint } = options
  const { database, keyRing, isEmbedded: isAlone } = installation
  const { db, address } = database
  const facts = { roles: config.roles, host: hostname(), version: product.version }
  const instance = opened.use(await Instance.start({ address, log, facts, isAlone, pace: pace.lease }))
  const wakes = opened.use(openWakes(address, log))
  const waker = opened.use(openWaker(db, log))
  const pulse = opened.use(new Pulse(db, log, pace.pulseSeconds))
  const news = opened.use(openNews({ db, wakes, pulse, log }))
  const live = opened.use(await LiveProcesses.start({ db, instance, pulse, log }))
  const redis = redisOf(config)
  const answerMilliseconds = pace.storeAnswerMilliseconds
  const limits = await openLimits({
    db,
    keyRing,
    live,
    clock,
    log,
    metrics,
    redis,
    answerMilliseconds,
    opened,
  })
  const standIns = await findStandIns(config.sandboxUrl, log)
  const places = { findPlayedHosts: findPlayedHosts(config.sandboxUrl), ...autoconfig }
  const reaching = { settings: config, sharing: live, resolve, autoconfig: places, standIns, pace }
  const outside = await openOutside({ db, keyRing, baseUrl: options.baseUrl, ...reaching })
  opened.use(outside.calls)
  opened.use(outside.davFiles)
  for (const metric of processMetrics(config, database, outside)) metrics.registerMetric(metric)
  const connections = opened.use(outside.connections)
  const resources: Resources = {
    db,
    keyRing,
    config,
    baseUrl: options.baseUrl,
    log,
    clock,
    metrics,
    instance,
    pulse,
    waker,
    wakes,
    news,
    limits,
    connections,
    servers: outside.servers,
    signIns: outside.signIns,
    deleteSubscription: outside.deleteSubscription,
    serverSearch: outside.serverSearch,
    targets: outside.targets,
    blobs: await openBlobs(config, { db, log }),
    reachPoint,
    opened,
  }
  const { connectorOf, openPushes } = outside
  return { resources, connectorOf, openPushes, endSending: () => void connections.endSending() }
}

function redisOf({ redisUrl, certificateAuthorities }: Config) {
  if (redisUrl === null) return null
  const address = parseRedisUrl(redisUrl.reveal())
  return { address, authorities: trustAlso(certificateAuthorities) }
}

function hostedSessionsOf(wings: readonly Wing[]): Wing['hostedSessions'] & object {
  return Object.assign({}, ...wings.map(({ hostedSessions }) => hostedSessions))
}
