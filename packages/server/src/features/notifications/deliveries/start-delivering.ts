import type { Registry } from 'prom-client'
import type { Db } from '../../../database/pool.ts'
import type { Waker, Wakes } from '../../../database/wake.ts'
import { EventFollower } from '../../../events/follow.ts'
import type { News } from '../../../events/news.ts'
import type { Instance } from '../../../processes/instance.ts'
import type { Pulse } from '../../../processes/pulse.ts'
import { trustAlso } from '../../../kit/authorities.ts'
import { Poster } from '../../../kit/egress/post.ts'
import type { TargetGuard } from '../../../kit/egress/target-guard.ts'
import type { Logger } from '../../../kit/log.ts'
import type { ReachPoint } from '../../../kit/reach-point.ts'
import type { WebhookKeys } from '../webhooks/secrets.ts'
import { WebhookDispatcher } from './dispatcher.ts'
import { deliverySubscription } from './fan-out.ts'
import { ATTEMPT_SECONDS } from './limits.ts'
import { deliveryMetrics } from './metrics.ts'

export interface DeliveringOptions {
  db: Db
  keys: WebhookKeys
  targets: TargetGuard
  config: { certificateAuthorities: string | null; webhookConnections: number }
  instance: Instance
  pulse: Pulse
  log: Logger
  metrics: Registry
  news: News
  reachPoint: ReachPoint
  waker: Waker
  wakes: Wakes
  /** Closes the resources of the workers after they have ended. */
  opened: AsyncDisposableStack
}

/** Queues new events for the endpoints that they are for, and posts the queued deliveries. */
export function startDelivering(options: DeliveringOptions, workers: AsyncDisposableStack): void {
  const {
    db,
    keys,
    targets,
    config,
    instance,
    pulse,
    log,
    metrics,
    news,
    reachPoint: reach,
    wakes,
    waker,
  } = options
  const poster = options.opened.use(
    new Poster({
      resolve: url => targets.resolve(url),
      authorities: trustAlso(config.certificateAuthorities),
      timeoutSeconds: ATTEMPT_SECONDS,
    }),
  )
  const dispatcher = workers.use(
    new WebhookDispatcher({
      db,
      keys,
      poster,
      instance,
      pulse,
      log,
      reach,
      connectionsMax: config.webhookConnections,
      onRecorded: deliveryMetrics(metrics),
    }),
  )
  const wake = () => dispatcher.wake()
  wakes.on(['waxwing_webhook'], { onWake: ids => dispatcher.wake(ids), onListening: wake })
  const queued = new Set<string>()
  const subscription = deliverySubscription(tenantId => queued.add(tenantId))
  const onHandled = () => {
    if (queued.size > 0) wake()
    // Another process may dispatch for some of the endpoints.
    for (const tenantId of queued) waker.wake(tenantId, 'waxwing_webhook')
    queued.clear()
  }
  workers.use(new EventFollower({ db, log, news, subscription, onHandled, reach }))
}
