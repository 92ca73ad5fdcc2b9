import type { RawBuilder } from 'kysely'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'
import { type Fence, underFenceOf } from '../../../accounts/halves/under-fence.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { Logger } from '../../../kit/log.ts'
import type { CalendarsProvider } from '../../../providers/calendars.ts'
import type { LookSession } from '../../../sync/looks/session.ts'
import { loadLockedCalendars } from '../calendars/record-account.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import type { SpanPlanner } from '../events/planner.ts'
import type { WindowDays } from '../events/window.ts'
import type { WriteMails } from '../writing/mails.ts'
import type { ReportGuesses } from './guessed-zones.ts'

/** The calendars of an account that are followed over one connection. */
export interface Session extends LookSession<CalendarsProvider> {
  days: WindowDays
  planner: SpanPlanner
  /** Absent: nobody is told of anything by mail. */
  mails?: WriteMails
  log: Logger
  /** Absent: guessed zones are not reported. */
  reportGuesses?: ReportGuesses
  /** Called when an interrupted write is given up. */
  onGivenUp?: () => void
}

/** The account whose calendars are locked, and its own addresses. */
export interface Loaded {
  account: CalendarAccount
  own: ReadonlySet<string>
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
  return underFenceOf(fenceOf(db, owned), (unit, { account, own }) => work(unit, account, own))
}

export function fenceOf(db: Db, owned: OwnedAccount): Fence<Loaded> {
  const load = (unit: UnitOfWork, locking: RawBuilder<unknown>) =>
    loadLockedCalendars(unit, owned.id, locking)
  return { db, owned, kind: 'calendar', load }
}
