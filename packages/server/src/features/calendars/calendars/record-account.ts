import { type RawBuilder, sql } from 'kysely'
import type { AccountRow } from '../../../accounts/row.ts'
import { grantedHalves } from '../../../accounts/settings.ts'
import { grantedScopes } from '../../../accounts/store.ts'
import { inOneFlight } from '../../../database/in-one-flight.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { type OwnAddressRow, ownAddressColumns, ownAddressesOf } from '../../mail/identities/store.ts'
import type { CalendarAccount } from './rules.ts'

type GrantRow = Pick<AccountRow, 'provider' | 'auth_method' | 'cloud' | 'granted_scopes'>

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
  const loading = sql<OwnAddressRow & GrantRow & { is_initialized: boolean }>`
    select account_half.initialized_at is not null as is_initialized, account.provider, account.auth_method, account.cloud,
      ${grantedScopes} as granted_scopes, ${ownAddressColumns}
    from account join account_half on account_half.account_id = account.id and kind = 'calendar'
    where account.id = ${accountId} and deleted_at is null`
  const [locked, [row]] = await inOneFlight(unit.sql, [locking, loading])
  if (locked.length === 0 || !row) return null
  const account = {
    id: accountId,
    tenantId: unit.tenantId,
    isInitialized: row.is_initialized,
    grantsWrites: grantedHalves(row).calendar === 'writes',
  }
  return { account, own: ownAddressesOf(row) }
}
