import { Gauge, type Registry } from 'prom-client'
import type { ConnectorOf } from '../connections/connections.ts'
import type { Db } from '../database/pool.ts'
import type { Wakes } from '../database/wake.ts'
import type { Instance } from '../processes/instance.ts'
import type { LeasePace } from '../processes/lease.ts'
import type { Pulse } from '../processes/pulse.ts'
import type { Logger } from '../kit/log.ts'
import { SyncEngine } from '../sync/engine.ts'
import { halfGauges, troubleGauges } from '../sync/overview.ts'
import type { RenewalPace } from '../sync/renewal.ts'
import type { SharePace } from '../sync/share.ts'
import type { Wing } from '../wing/wing.ts'
import type { Readiness } from './readiness.ts'

/** Intervals and time limits of the sync, and of what finds work. Tests use shorter ones than the defaults. */
export interface SyncPace {
  pollSeconds?: number
  stallSeconds?: number
  keepAliveSeconds?: number
  answerSeconds?: number
  passFactorMax?: number
  refusalSeconds?: number
  renewal?: RenewalPace
  lease?: LeasePace
  pulseSeconds?: number
  /** How long a request waits for the store of REDIS_URL. */
  storeAnswerMilliseconds?: number
  share?: SharePace
  /** Milliseconds since 1970. Decides when flags are compared again on servers that do not report changes. */
  now?: () => number
}

export interface SyncRoleOptions {
  db: Db
  instance: Instance
  pulse: Pulse
  wakes: Wakes
  connectorOf: ConnectorOf
  wings: readonly Wing[]
  readiness: Readiness
  metrics: Registry
  log: Logger
  pace: SyncPace
}

/** The role `sync`: owns accounts and keeps them in step with their providers. */
export async function startSyncRole(options: SyncRoleOptions): Promise<AsyncDisposable> {
  const { db, instance, pulse, wakes, connectorOf, wings, readiness, metrics, log, pace } = options
  const followers = wings.flatMap(wing => wing.follower ?? [])
  const engine = await SyncEngine.start({ db, instance, pulse, connectorOf, followers, log, ...pace })
  readiness.include(() => engine.problem)
  const onWake = (ids: string[]) => engine.wake(ids)
  wakes.on(['waxwing_wake', 'waxwing_notice'], { onWake, onListening: () => engine.wake(null) })
  const owned = new Gauge({
    name: 'waxwing_accounts_owned',
    help: 'Accounts that this process keeps in sync',
    registers: [],
    collect() {
      this.set(engine.accountCount)
    },
  })
  const halves = new Gauge({
    name: 'waxwing_halves_followed',
    help: 'Mail, calendars and contacts of accounts that this process follows, by what it last reported of them',
    labelNames: ['kind', 'state'],
    registers: [],
    collect() {
      this.reset()
      for (const { kind, state, count } of engine.countHalves()) this.set({ kind, state }, count)
    },
  })
  const followed = followers.flatMap(follower => follower.metrics)
  for (const metric of [owned, halves, ...followed, ...troubleGauges(db), ...halfGauges(db)])
    metrics.registerMetric(metric)
  return engine
}
