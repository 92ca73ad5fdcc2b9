import type { AnyRouter } from '@orpc/server'
import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { Door } from '../door/open-operation.ts'
import type { PublicRoute } from '../pages/public-route.ts'
import type { PushReceiver } from '../kit/push-receiver.ts'
import type { Overload } from '../door/overload.ts'
import { createApp } from '../http/app.ts'
import { type LinkSettings, planLinkBase } from '../kit/link-base.ts'
import type { Limits } from '../limits/limits.ts'
import { listen } from '../http/listen.ts'
import { PUBLIC_WINDOWS_MAX } from '../http/public-routes.ts'
import { observeAnswers } from '../http/observe-answers.ts'
import type { Readiness } from './readiness.ts'

export interface ApiOptions {
  config: Pick<Config, 'host' | 'port' | 'corsOrigins' | 'trustProxy' | keyof LinkSettings>
  door: Door
  operations: AnyRouter
  publicRoutes: readonly PublicRoute[]
  pushes: readonly PushReceiver[]
  limits: Limits
  overload: Overload
  readiness: Readiness
  metrics: Registry
}

/** The longest waits for what is under way when the process stops. */
export interface Drain {
  /** For requests to be answered. */
  requestSeconds: number
  /** For downloads, and for whatever else is being sent by then. */
  downloadSeconds: number
  /** For providers to say what becomes of messages that were handed over to them. */
  handedOverSeconds: number
}

export const NO_DRAIN: Drain = { requestSeconds: 0, downloadSeconds: 0, handedOverSeconds: 5 }

export interface Api extends AsyncDisposable {
  address: string
  /** Takes no new connections and waits for the requests under way, at most as long as `drain` says. */
  close(drain: Drain): Promise<void>
}

/** The role `api`: the public front door. */
export async function startApi(options: ApiOptions): Promise<Api> {
  const { config, door, operations, publicRoutes, pushes, limits, overload, readiness, metrics } = options
  const observe = observeAnswers(metrics, door.log)
  const stop = new AbortController()
  const app = createApp({
    ...door,
    operations,
    publicRoutes,
    pushes,
    linksHost: planLinkBase(config)?.ownHost ?? null,
    publicWindows: limits.openWindows({ windowsMax: PUBLIC_WINDOWS_MAX }),
    overload,
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    stopping: stop.signal,
    isReady: async () => (await readiness.findProblems()).length === 0,
    observe,
  })
  const where = { host: config.host, port: config.port }
  const listener = await listen(app, where, { observe, isLeaving: () => readiness.isStopping })
  let closing: Promise<void> | null = null
  const close = ({ requestSeconds, downloadSeconds }: Drain) => {
    stop.abort()
    return (closing ??= listener.close({
      deadlineMilliseconds: requestSeconds * 1000,
      begunMilliseconds: downloadSeconds * 1000,
    }))
  }
  return { address: listener.address, close, [Symbol.asyncDispose]: () => close(NO_DRAIN) }
}
