import type { Wing } from '../../wing/wing.ts'
import type { Resources } from '../../wing/resources.ts'
import { deleteOfAccount } from '../accounts/accounts/purge.ts'
import { stateGauge } from './comparisons/gauge.ts'
import { integrityOperations } from './comparisons/operations.ts'
import { INTEGRITY_TIMES } from './stored-times.ts'

export function openIntegrity({ db }: Resources) {
  return {
    operations: { integrity: integrityOperations },
    gauges: [stateGauge(db)],
    purgeStep: (accountId, signal) => deleteOfAccount(db, ['mailbox_comparison'], accountId, signal),
    storedTimes: INTEGRITY_TIMES,
  } satisfies Wing
}
