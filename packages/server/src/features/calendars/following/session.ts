import { holdingOwned } from '../../../accounts/halves/lock.ts'
import { FenceLost, type OwnedAccount } from '../../../accounts/halves/ownership.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import type { CalendarsProvider } from '../../../providers/calendars.ts'
import type { Doubts } from '../../../sync/doubts.ts'
import { loadLockedCalendars } from '../calendars/record-account.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import type { WindowDays } from '../events/window.ts'

/** The calendars of an account that are followed over one connection. */
export interface Session {
  db: Db
  owned: OwnedAccount
  provider: CalendarsProvider
  days: WindowDays
  /** Whether the first sync is complete: before it, nothing is announced. */
  isInitialized: boolean
  signal: AbortSignal
  /** Called with every step that makes progress; a session that makes none is ended. */
  progressed(): void
  doubts: Doubts
}

/**
 * A transaction that commits only while the calendars of the account are owned, and keeps them so until the commit.
 * @param work given the account's own addresses, too
 * @throws FenceLost
 */
export function underFence<T>(
  { db, owned }: Pick<Session, 'db' | 'owned'>,
  work: (unit: UnitOfWork, account: CalendarAccount, own: ReadonlySet<string>) => Promise<T>,
): Promise<T> {
  return inTransaction(db, owned.tenantId, async unit => {
    const loaded = await loadLockedCalendars(unit, owned.id, holdingOwned(owned, 'calendar'))
    if (!loaded) throw new FenceLost(owned.id)
    return work(unit, loaded.account, loaded.own)
  })
}
