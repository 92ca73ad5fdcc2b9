import type { Db } from '../../database/pool.ts'
import { dropOldPartitions, findDropSoon, makePartitions, measureRoom } from '../../events/partitions.ts'
import { deleteOldEvents } from '../../events/retention.ts'
import { everyMinutes } from '../../jobs/schedule.ts'
import type { Logger } from '../../kit/log.ts'
import { askingGauge } from '../../kit/metrics.ts'
import type { Wing } from '../../wing/wing.ts'
import type { Resources } from '../../wing/resources.ts'
import { listTenantRetention } from '../tenancy/settings/store.ts'
import { FeedWatch } from './changes/feed-watch.ts'
import { changeOperations } from './changes/operations.ts'
import { deliveryGauges } from './deliveries/metrics.ts'
import { deliveryOperations } from './deliveries/operations.ts'
import { purgeDeliveries } from './deliveries/purge.ts'
import { startDelivering } from './deliveries/start-delivering.ts'
import { sweepDeliveries } from './deliveries/sweep.ts'
import { webhookOperations } from './webhooks/operations.ts'
import { openWebhookKeys } from './webhooks/secrets.ts'
import { countEndpoints } from './webhooks/store.ts'
import { NOTIFICATION_TIMES } from './stored-times.ts'

export async function openNotifications(resources: Resources) {
  const { db, keyRing, log, news, targets } = resources
  const keys = await openWebhookKeys(db, keyRing)
  const watch = new FeedWatch(db, news)
  return {
    operations: {
      changes: changeOperations(watch),
      webhooks: webhookOperations({ keys, targets }),
      webhookDeliveries: deliveryOperations,
    },
    counts: { webhookEndpoints: countEndpoints },
    recurringTasks: () => [
      {
        name: 'make_event_partitions',
        schedule: everyMinutes(10),
        run: signal => makePartitions(db, { log, signal }),
      },
      { name: 'sweep_events', schedule: everyMinutes(10), run: signal => sweepEvents(db, log, signal) },
      { name: 'sweep_webhooks', schedule: everyMinutes(10), run: signal => sweepDeliveries(db, signal) },
    ],
    purgeStep: (accountId, signal) => purgeDeliveries(db, accountId, signal),
    startWorkers: workers => startDelivering({ ...resources, keys }, workers),
    gauges: [
      askingGauge(
        'waxwing_event_room_ids',
        'Event ids of the whole installation until events go into the default partition',
        () => measureRoom(db),
      ),
      ...deliveryGauges(db),
    ],
    storedTimes: NOTIFICATION_TIMES,
  } satisfies Wing
}

async function sweepEvents(db: Db, log: Logger, signal: AbortSignal): Promise<void> {
  const tenants = await listTenantRetention(db)
  const longestDays = Math.max(0, ...tenants.map(({ eventRetentionDays }) => eventRetentionDays))
  if (longestDays === 0) return
  await dropOldPartitions(db, { retentionDays: longestDays, log, signal })
  const droppedSoon = await findDropSoon(db, longestDays)
  for (const { tenantId, eventRetentionDays } of tenants) {
    const fromId = eventRetentionDays === longestDays ? droppedSoon : '0'
    await deleteOldEvents(db, tenantId, eventRetentionDays, signal, fromId)
  }
}
