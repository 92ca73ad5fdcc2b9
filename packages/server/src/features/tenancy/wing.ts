import { dailyAt, everyMinutes, hourlyAt } from '../../jobs/schedule.ts'
import { askingGauge } from '../../kit/metrics.ts'
import type { Wing } from '../../wing/wing.ts'
import type { Resources } from '../../wing/resources.ts'
import { openAuditLog } from './audit-log/open-audit-log.ts'
import { auditLogOperations } from './audit-log/operations.ts'
import { measureWait } from './audit-log/store.ts'
import { deleteExpiredTokens } from './credentials/store.ts'
import { measureStorage } from './plans/store.ts'
import type { Counts } from '../../wing/counts.ts'
import { usageOperations } from './usage/operations.ts'
import { deleteOldUsage, foldCounts, listStoredBytes } from './usage/store.ts'
import { TENANCY_TIMES } from './stored-times.ts'

/** @param counts the numbers that later wings count for plans; called when the first call comes */
export async function openTenancy(resources: Resources, counts: () => Counts) {
  const { db, clock } = resources
  const auditLog = await openAuditLog(resources)
  return {
    operations: { auditLog: auditLogOperations, usage: usageOperations(counts) },
    recurringTasks: () => [
      { name: 'fold_usage', schedule: everyMinutes(1), run: signal => foldCounts(db, signal) },
      { name: 'list_stored_bytes', schedule: dailyAt(0, 1), run: () => listStoredBytes(db) },
      { name: 'sweep_usage', schedule: dailyAt(0, 10), run: () => deleteOldUsage(db) },
      { name: 'sweep_account_tokens', schedule: hourlyAt(7), run: signal => deleteExpiredTokens(db, signal) },
      ...auditLog.recurringTasks,
    ],
    startWorkers: workers => void workers.use(auditLog.startChaining()),
    gauges: [
      askingGauge(
        'waxwing_audit_oldest_open_seconds',
        'Seconds that the oldest row of the audit log of the whole installation has waited to be chained; 0 if none waits',
        () => measureWait(db, clock.now()),
      ),
      askingGauge(
        'waxwing_stored_bytes',
        'Bytes that stored messages of the whole installation take on the disk',
        async () => (await measureStorage(db)).bytes,
      ),
      askingGauge(
        'waxwing_tenants_storage_full',
        'Tenants that store no more, since they reached the storageBytes of their plan',
        async () => (await measureStorage(db)).fullTenants,
      ),
    ],
    storedTimes: TENANCY_TIMES,
  } satisfies Wing
}
