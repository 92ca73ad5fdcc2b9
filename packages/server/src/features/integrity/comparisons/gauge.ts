import type { Gauge } from 'prom-client'
import type { Db } from '../../../database/pool.ts'
import { askingGauges } from '../../../kit/metrics.ts'
import { countStates } from './store.ts'

/** The states are counted at most this often, since that reads all accounts that are not verified. */
const COUNTED_SECONDS = 300

export function stateGauge(db: Db): Gauge {
  let counted: { at: number; states: Promise<Record<string, number>> } | null = null
  const ask = () => {
    if (counted === null || performance.now() - counted.at > COUNTED_SECONDS * 1000) {
      counted = { at: performance.now(), states: countStates(db) }
      counted.states.catch(() => (counted = null))
    }
    return counted.states
  }
  return askingGauges(
    'waxwing_accounts_integrity',
    'Accounts that the processes of the installation follow, by the state of their integrity, counted every five minutes',
    { label: 'state', ask },
  )
}
