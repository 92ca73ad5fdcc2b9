import type { Wing } from '../../wing/wing.ts'
import type { Resources } from '../../wing/resources.ts'
import { stateGauge } from './comparisons/gauge.ts'
import { integrityOperations } from './comparisons/operations.ts'

export function openIntegrity({ db }: Resources) {
  return {
    operations: { integrity: integrityOperations },
    gauges: [stateGauge(db)],
  } satisfies Wing
}
