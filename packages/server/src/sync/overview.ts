import { setTimeout as sleep } from 'node:timers/promises'
import type { Gauge } from 'prom-client'
import type { Db } from '../database/pool.ts'
import { measureTroubles, TROUBLES, type Troubled } from '../accounts/troubles.ts'
import { countHalves } from '../accounts/halves/counts.ts'
import { askingGauges } from '../kit/metrics.ts'

type Measured = Awaited<ReturnType<typeof measureTroubles>>

const KEPT_SECONDS = 10
const ANSWER_SECONDS_MAX = 2

/** Asks for accounts in trouble at most every 10 seconds, however often it is called. Null if no answer comes soon. */
export function askForTroubles(db: Db): () => Promise<Measured | null> {
  let asked: { at: number; answer: Promise<Measured | null> } | null = null
  return () => {
    if (asked === null || performance.now() - asked.at > KEPT_SECONDS * 1000) {
      const late = sleep(ANSWER_SECONDS_MAX * 1000, null, { ref: false })
      asked = { at: performance.now(), answer: Promise.race([measureTroubles(db).catch(() => null), late]) }
    }
    return asked.answer
  }
}

/** Gauges of the halves of active accounts that are not caught up, or that somebody must see to. */
export function halfGauges(db: Db): Gauge[] {
  const label = 'kind'
  return [
    askingGauges(
      'waxwing_halves_behind',
      'Mail, calendars and contacts of active accounts of the whole installation that are not caught up',
      { label, ask: () => countHalves(db, 'behind') },
    ),
    askingGauges(
      'waxwing_halves_with_problem',
      'Mail, calendars and contacts of active accounts of the whole installation that cannot be reached until ' +
        'somebody changes their settings or permissions',
      { label, ask: () => countHalves(db, 'problem') },
    ),
  ]
}

export function troubleGauges(db: Db): Gauge[] {
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
