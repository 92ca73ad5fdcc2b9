import { Gauge } from 'prom-client'
import type { Db } from '../database/pool.ts'
import { askingGauge, askingGauges } from '../kit/metrics.ts'
import { SyncEngine } from '../sync/engine.ts'
import type { LeasePace } from '../jobs/lease.ts'
import { countAllQuarantined } from '../sync/mail/quarantine.ts'
import { measureTroubles, TROUBLES, type Troubled } from '../features/accounts/accounts/following.ts'
import type { Shared } from './roles.ts'

/** How quickly the sync looks and gives up; tests are more impatient than the defaults. */
export interface SyncPace {
  pollSeconds?: number
  stallSeconds?: number
  keepAliveSeconds?: number
  answerSeconds?: number
  refusalSeconds?: number
  lease?: LeasePace
  /** Milliseconds since 1970, by which flags are compared anew on servers that do not tell of their changes. */
  now?: () => number
}

/** The role `sync`: owns accounts and keeps them in step with their providers. */
export async function startSyncRole(shared: Shared): Promise<AsyncDisposable> {
  const { installation, instance, wakes, connectorOf, newMail, log, pace } = shared
  const { metrics, readiness } = shared
  const { db } = installation.database
  await using opened = new AsyncDisposableStack()
  const engine = opened.use(
    await SyncEngine.start({
      db,
      instance,
      connectorOf,
      onMail: newMail.wake,
      log,
      ...pace,
    }),
  )
  readiness.include(() => engine.problem)
  const wake = () => engine.wake()
  wakes.on(['waxwing_wake'], { onWake: wake, onListening: wake })
  const owned = new Gauge({
    name: 'waxwing_accounts_owned',
    help: 'Accounts that this process keeps in sync',
    registers: [],
    collect() {
      this.set(engine.accountCount)
    },
  })
  const quarantined = askingGauge(
    'waxwing_messages_quarantined',
    'Messages of the whole installation that could not be read and are tried again',
    () => countAllQuarantined(db),
  )
  for (const gauge of [owned, quarantined, ...troubleGauges(db)]) metrics.registerMetric(gauge)
  return opened.move()
}

function troubleGauges(db: Db): Gauge[] {
  const measure = async (amount: (troubled: Troubled) => number) => {
    const measured = await measureTroubles(db)
    return Object.fromEntries(TROUBLES.map(trouble => [trouble, amount(measured[trouble])]))
  }
  return [
    askingGauges(
      'waxwing_accounts_troubled',
      'Active accounts of the whole installation that no process follows, that fail, or that are not caught up for 10 minutes',
      { label: 'trouble', ask: () => measure(({ count }) => count) },
    ),
    askingGauges(
      'waxwing_accounts_troubled_oldest_seconds',
      'How long the longest-troubled account has been in this state; 0 if there is none',
      { label: 'trouble', ask: () => measure(({ oldestSeconds }) => oldestSeconds) },
    ),
  ]
}
