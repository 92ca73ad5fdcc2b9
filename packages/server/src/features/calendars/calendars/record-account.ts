import { type RawBuilder, sql } from 'kysely'
import { lockingHalf } from '../../../accounts/halves/lock.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { grantedHalves } from '../../../accounts/settings.ts'
import { grantedScopes } from '../../../accounts/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import { inOneFlight } from '../../../database/in-one-flight.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { EventAddress } from '../../../providers/calendars.ts'
import { type OwnAddressRow, ownAddressColumns, ownAddressesOf } from '../../mail/identities/store.ts'
import type { CalendarAccount } from './rules.ts'

type FactsRow = OwnAddressRow & Pick<AccountRow, 'provider' | 'auth_method' | 'cloud' | 'granted_scopes'>

const FACTS = sql`account.provider, account.auth_method, account.cloud, ${grantedScopes} as granted_scopes,
  ${ownAddressColumns}`

const grantsWrites = (row: FactsRow) => grantedHalves(row).calendar === 'writes'

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
  const loading = sql<FactsRow & { is_initialized: boolean }>`
    select account_half.initialized_at is not null as is_initialized, ${FACTS}
    from account join account_half on account_half.account_id = account.id and kind = 'calendar'
    where account.id = ${accountId} and deleted_at is null`
  const [locked, [row]] = await inOneFlight(unit.sql, [locking, loading])
  if (locked.length === 0 || !row) return null
  const account = {
    id: accountId,
    tenantId: unit.tenantId,
    isInitialized: row.is_initialized,
    grantsWrites: grantsWrites(row),
  }
  return { account, own: ownAddressesOf(row) }
}

/**
 * Takes the calendars of an account for one change by the interface. Until the commit neither the sync nor another change
 * records anything of them, so the transaction must be short: call the provider before it. Refuses an account that was
 * deleted in the meantime.
 */
export async function lockCalendars(
  unit: UnitOfWork,
  accountId: string,
): Promise<{ account: CalendarAccount; own: ReadonlySet<string> }> {
  const loaded = await loadLockedCalendars(unit, accountId, lockingHalf(unit, accountId, 'calendar'))
  return loaded ?? refuse('account_not_found')
}

/** The same facts of an account that is not locked, and the account as the organizer of events. */
export async function findCalendarFacts(
  db: Db,
  accountId: string,
): Promise<{ grantsWrites: boolean; own: ReadonlySet<string>; self: EventAddress }> {
  const { rows } = await sql<FactsRow & { display_name: string | null }>`
    select ${FACTS}, account.display_name from account where id = ${accountId}
  `.execute(db)
  const [row] = rows
  if (!row) return { grantsWrites: false, own: new Set(), self: { name: null, address: '' } }
  const self = { name: row.display_name, address: row.email }
  return { grantsWrites: grantsWrites(row), own: ownAddressesOf(row), self }
}
