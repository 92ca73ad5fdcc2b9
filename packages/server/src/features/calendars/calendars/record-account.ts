import { type RawBuilder, sql } from 'kysely'
import { inOneFlight } from '../../../database/in-one-flight.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { type OwnAddressRow, ownAddressColumns, ownAddressesOf } from '../../mail/identities/store.ts'
import type { CalendarAccount } from './rules.ts'

/**
 * Reads the facts about an account that recording its calendars needs, after a statement that locks their half. The
 * reading is a statement of its own, so that it sees all that was committed while the first one waited.
 * @param locking has a row if the account is to be recorded
 */
export async function loadLockedCalendars(
  unit: UnitOfWork,
  accountId: string,
  locking: RawBuilder<unknown>,
): Promise<{ account: CalendarAccount; own: ReadonlySet<string> } | null> {
  const loading = sql<OwnAddressRow & { is_initialized: boolean }>`
    select account_half.initialized_at is not null as is_initialized, ${ownAddressColumns}
    from account join account_half on account_half.account_id = account.id and kind = 'calendar'
    where account.id = ${accountId} and deleted_at is null`
  const [locked, [row]] = await inOneFlight(unit.sql, [locking, loading])
  if (locked.length === 0 || !row) return null
  const account = { id: accountId, tenantId: unit.tenantId, isInitialized: row.is_initialized }
  return { account, own: ownAddressesOf(row) }
}
