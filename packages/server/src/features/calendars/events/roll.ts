import { sql } from 'kysely'
import { lockingHalf } from '../../../accounts/halves/lock.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { type Clock, systemClock } from '../../../kit/clock.ts'
import type { Logger } from '../../../kit/log.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import { loadLockedCalendars } from '../calendars/record-account.ts'
import type { SpanPlanner } from './planner.ts'
import { isDue, remakeDue } from './remake.ts'
import { keptWindow, type WindowDays } from './window.ts'

const ACCOUNTS_AT_ONCE = 100

export interface RollOptions {
  db: Db
  days: WindowDays
  planner: SpanPlanner
  log: Logger
  clock?: Clock
}

interface DueAccount {
  id: string
  tenant_id: string
}

/**
 * Expands series up to where the window has moved, and makes items again that were made with older zone data, a batch and
 * a transaction at a time. Several processes may do so at once. An account that fails does not keep others.
 */
export async function rollWindows(
  { db, days, planner, log, clock = systemClock }: RollOptions,
  signal: AbortSignal,
): Promise<void> {
  const window = keptWindow(days, clock.now())
  const seen = new Set<string>()
  for (;;) {
    const accounts = await listDue(db, window, seen)
    if (accounts.length === 0) return
    for (const account of accounts) {
      seen.add(account.id)
      await rollAccount(account).catch((error: unknown) => {
        if (signal.aborted) throw error
        log.error(
          { accountId: account.id, error },
          'Could not move the window of the calendars of an account',
        )
      })
    }
  }

  async function rollAccount({ id, tenant_id: tenantId }: DueAccount): Promise<void> {
    let count = 1
    while (count > 0) {
      signal.throwIfAborted()
      count = await planner.run(id, items =>
        inTransaction(db, tenantId, async unit => {
          const loaded = await loadLockedCalendars(unit, id, lockingHalf(unit, id, 'calendar'))
          return loaded ? remakeDue(unit, loaded.account, { own: loaded.own, window, planner: items }) : 0
        }),
      )
    }
  }
}

async function listDue(db: Db, window: CalendarWindow, seen: ReadonlySet<string>): Promise<DueAccount[]> {
  const { rows } = await sql<DueAccount>`
    select id, tenant_id from account where deleted_at is null and not id = any(${[...seen]}::uuid[]) and id in (
      select account_id from calendar_event where ${isDue(window)})
    limit ${ACCOUNTS_AT_ONCE}
  `.execute(db)
  return rows
}
