import type { AnyRouter } from '@orpc/server'
import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { Door } from '../door/open-operation.ts'
import type { PublicRoute } from '../features/public-route.ts'
import type { Clock } from '../kit/clock.ts'
import type { Overload } from '../door/overload.ts'
import { createApp } from '../http/app.ts'
import { planLinkBase } from '../kit/link-base.ts'
import { listen } from '../http/listen.ts'
import { observeAnswers } from '../http/observe-answers.ts'
import type { Readiness } from './readiness.ts'

export interface ApiOptions {
  config: Pick<Config, 'host' | 'port' | 'corsOrigins' | 'trustProxy' | 'linksUrl' | 'baseUrl'>
  door: Door
  operations: AnyRouter
  publicRoutes: readonly PublicRoute[]
  clock: Clock
  overload: Overload
  readiness: Readiness
  metrics: Registry
}

export interface Api extends AsyncDisposable {
  address: string
  /** Takes no new request and waits at most this long for those under way. */
  close(seconds: number): Promise<void>
}

/** The role `api`: the public front door. */
export async function startApi(options: ApiOptions): Promise<Api> {
  const { config, door, operations, publicRoutes, clock, overload, readiness, metrics } = options
  const observe = observeAnswers(metrics, door.log)
  const app = createApp({
    ...door,
    operations,
    publicRoutes,
    linksHost: planLinkBase(config)?.ownHost ?? null,
    clock,
    overload,
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    isReady: async () => (await readiness.findProblems()).length === 0,
    observe,
  })
  const listener = await listen(app, { host: config.host, port: config.port }, { observe })
  let closing: Promise<void> | null = null
  const close = (seconds: number) => (closing ??= listener.close({ deadlineMilliseconds: seconds * 1000 }))
  return { address: listener.address, close, [Symbol.asyncDispose]: () => close(0) }
}
