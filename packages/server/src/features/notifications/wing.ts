import type { Db } from '../../database/pool.ts'
import { deleteOldEvents } from '../../events/retention.ts'
import { everyMinutes } from '../../jobs/schedule.ts'
import type { Resources, Wing } from '../../wing.ts'
import { listTenantRetention } from '../tenancy/settings/store.ts'
import { changeOperations } from './changes/operations.ts'

export function openNotifications({ db }: Resources) {
  return {
    operations: { changes: changeOperations },
    recurringTasks: () => [
      { name: 'sweep_events', schedule: everyMinutes(10), run: signal => sweepEvents(db, signal) },
    ],
  } satisfies Wing
}

async function sweepEvents(db: Db, signal: AbortSignal): Promise<void> {
  for (const { tenantId, eventRetentionDays } of await listTenantRetention(db)) {
    await deleteOldEvents(db, tenantId, eventRetentionDays, signal)
  }
}
