import { hourlyAt } from '../../jobs/schedule.ts'
import { askingGauge } from '../../kit/metrics.ts'
import type { Resources, Wing } from '../../wing.ts'
import { deleteExpiredTokens } from './credentials/store.ts'
import { measureStorage } from './plans/store.ts'

export function openTenancy({ db }: Resources) {
  return {
    recurringTasks: () => [
      { name: 'sweep_account_tokens', schedule: hourlyAt(7), run: signal => deleteExpiredTokens(db, signal) },
    ],
    gauges: [
      askingGauge(
        'waxwing_stored_bytes',
        'What stored messages of the whole installation take on the disk',
        async () => (await measureStorage(db)).bytes,
      ),
      askingGauge(
        'waxwing_tenants_storage_full',
        'Tenants that store no more, since they reached the storageBytes of their plan',
        async () => (await measureStorage(db)).fullTenants,
      ),
    ],
  } satisfies Wing
}
