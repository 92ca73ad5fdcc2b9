import type { Db } from '../../../database/pool.ts'
import { requireSealedValue } from '../../../database/sealed-value.ts'
import type { Pulse } from '../../../processes/pulse.ts'
import type { RecurringTask } from '../../../jobs/recurring-tasks.ts'
import { dailyAt } from '../../../jobs/schedule.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import type { BlobStore } from '../../../kit/blobs/blob-store.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { KeyRing } from '../../../kit/key-ring.ts'
import type { Logger } from '../../../kit/log.ts'
import { openChain } from './chain.ts'
import { keptHeads } from './heads.ts'
import { chainOpenRows } from './record-chain.ts'
import { hasOpenRows } from './store.ts'
import { trimChains } from './trim-chains.ts'

/** The pulse finds rows to chain; this poll is only a safeguard. */
const POLL_SECONDS = 30

interface AuditLogOptions {
  db: Db
  keyRing: KeyRing
  blobs: BlobStore
  clock: Clock
  pulse: Pulse
  log: Logger
}

/** Opens the audit log: its chains, their heads, and the removal of old rows. */
export async function openAuditLog({ db, keyRing, blobs, clock, pulse, log }: AuditLogOptions) {
  const key = await requireSealedValue(db, keyRing, 'audit_key')
  const chain = openChain(key)
  const heads = keptHeads(key, blobs)
  const recurringTasks: RecurringTask[] = [
    { name: 'keep_audit_heads', schedule: dailyAt(0, 10), run: () => heads.keep(db, clock.now(), log) },
    {
      name: 'trim_audit_log',
      schedule: dailyAt(3, 20),
      run: signal => trimChains(db, chain, { now: clock.now(), log, signal }),
    },
  ]
  return {
    recurringTasks,
    /** Chains rows until it is disposed. */
    startChaining(): WokenLoop {
      return new WokenLoop({
        look: async () => ((await chainOpenRows(db, chain, log)) ? 0 : POLL_SECONDS),
        listen: wake => pulse.ask({ isDue: () => hasOpenRows, onDue: wake }),
        failure: 'The audit log cannot be chained',
        log,
      })
    },
  }
}
