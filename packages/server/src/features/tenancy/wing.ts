import { askingGauge } from '../../kit/metrics.ts'
import type { Resources, Wing } from '../../wing.ts'
import { measureStorage } from './plans/store.ts'

export function openTenancy({ db }: Resources) {
  return {
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
