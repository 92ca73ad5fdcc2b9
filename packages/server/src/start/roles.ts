import { hostname } from 'node:os'
import type { Registry } from 'prom-client'
import product from '../../package.json' with { type: 'json' }
import type { Config } from '../config.ts'
import type { Role } from '../config/settings.ts'
import { type AutoconfigPlaces, openOutside } from '../connections/outside.ts'
import { openWaker, openWakes } from '../database/wake.ts'
import { openDoor } from '../door/open-door.ts'
import { type Overload, watchOverload } from '../door/overload.ts'
import { Instance } from '../jobs/instance.ts'
import { openBlobStore } from '../kit/blobs/blob-store.ts'
import type { Clock } from '../kit/clock.ts'
import type { Resolver } from '../kit/egress/guard.ts'
import type { Logger } from '../kit/log.ts'
import type { ReachPoint } from '../kit/reach-point.ts'
import type { Resources, Wing } from '../wing.ts'
import { openWings } from '../wings.ts'
import { type Api, startApi } from './api.ts'
import type { Installation } from './database.ts'
import { startJobsRole } from './jobs.ts'
import type { Readiness } from './readiness.ts'
import { startSyncRole, type SyncPace } from './sync.ts'

export type { Role }

/** What every role is started with. */
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
  /** Stops taking work. Requests under way get this many seconds. */
  drain(seconds: number): Promise<void>
}

/** Starts the roles that the settings name, the API last: it answers once everything behind it runs. */
export async function startRoles(options: RoleOptions): Promise<Roles> {
  const { config, installation, metrics, readiness, log, pace } = options
  await using opened = new AsyncDisposableStack()
  const { resources, connectorOf } = await openResources(options, opened)
  const { wings, operations } = await openWings(resources)

  const { db, instance, wakes } = resources
  const common = { db, instance, wakes, wings, metrics, log }
  const workers: AsyncDisposable[] = []
  if (config.roles.includes('jobs')) workers.push(opened.use(await startJobsRole(common)))
  if (config.roles.includes('sync'))
    workers.push(opened.use(await startSyncRole({ ...common, connectorOf, readiness, pace })))
  let api: Api | null = null
  if (config.roles.includes('api')) {
    const overload =
      options.overload ?? opened.use(watchOverload(installation.database.waitMilliseconds, log))
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
        clock: options.clock,
        overload,
        readiness,
        metrics,
      }),
    )
  }
  const running = opened.move()
  return {
    address: api?.address ?? null,
    async drain(seconds) {
      await Promise.all([api?.close(seconds), ...workers.map(worker => worker[Symbol.asyncDispose]())])
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

async function openResources(options: RoleOptions, opened: AsyncDisposableStack) {
  const { config, installation, metrics, log, clock, resolve, autoconfig, pace, reachPoint } = options
  const { database, keyRing, isEmbedded: isAlone } = installation
  const { db, address } = database
  const facts = { roles: config.roles, host: hostname(), version: product.version }
  const instance = opened.use(await Instance.start({ address, log, facts, isAlone, pace: pace.lease }))
  const wakes = opened.use(openWakes(address, log))
  const waker = opened.use(openWaker(db, log))
  const outside = openOutside({ db, keyRing, settings: config, resolve, autoconfig, pace })
  const connections = opened.use(outside.connections)
  const resources: Resources = {
    db,
    keyRing,
    config,
    log,
    clock,
    metrics,
    instance,
    waker,
    wakes,
    connections,
    servers: outside.servers,
    serverSearch: outside.serverSearch,
    blobs: openBlobStore(config.blobDir),
    reachPoint,
    opened,
  }
  return { resources, connectorOf: outside.connectorOf }
}

function hostedSessionsOf(wings: readonly Wing[]): Wing['hostedSessions'] & object {
  return Object.assign({}, ...wings.map(({ hostedSessions }) => hostedSessions))
}
