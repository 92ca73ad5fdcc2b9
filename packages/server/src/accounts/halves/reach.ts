import { isDeepStrictEqual } from 'node:util'
import type { AccountSettings } from '@waxwing/contract/accounts/account-settings.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { executeUnawaited } from '../../database/unawaited.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import type { HalfKind } from './kind.ts'
import { lockHalves } from './lock-in-order.ts'
import { RESTART, wantedWith } from './wanted.ts'

/** The kinds whose followers must restart under these settings. */
export function mustRestart(before: AccountSettings, after: AccountSettings): Set<HalfKind> {
  const kinds = new Set<HalfKind>()
  if (before.bodyStorage !== after.bodyStorage || before.syncWindowDays !== after.syncWindowDays)
    kinds.add('mail')
  if (before.calendarEnabled !== after.calendarEnabled) kinds.add('calendar')
  if (before.contactsEnabled !== after.contactsEnabled) kinds.add('contacts')
  return kinds
}

/** The kinds that two states of an account reach in different ways, by what is shown of them. */
export function reachedDifferently(
  before: Pick<Account, 'settings' | 'imap'>,
  after: Pick<Account, 'settings' | 'imap'>,
): Set<HalfKind> {
  const kinds = mustRestart(before.settings, after.settings)
  const mailServers = ({ imap }: Pick<Account, 'imap'>) => imap && { ...imap, dav: null }
  if (!isDeepStrictEqual(mailServers(before), mailServers(after))) kinds.add('mail')
  if (!isDeepStrictEqual(before.imap?.dav ?? null, after.imap?.dav ?? null))
    kinds.add('calendar').add('contacts')
  return kinds
}

/**
 * Records that halves of these kinds are reached in another way: connections that were made before are no longer used,
 * and their followers restart.
 */
export async function recordReachChanged(
  unit: UnitOfWork,
  accountIds: readonly string[],
  kinds: Iterable<HalfKind>,
): Promise<void> {
  await lockHalves(unit, accountIds, kinds)
  return executeUnawaited(
    unit.sql,
    sql`
    update account_half set stamp = stamp + 1, sync_wanted = ${wantedWith([RESTART])}
    where account_id = any(${[...accountIds]}::uuid[]) and kind = any(${[...kinds]}::text[])`,
  )
}

/** Records another secret of the server by which an account only sends: its followers go on. */
export function recordSendingSecretChanged(unit: UnitOfWork, accountId: string): Promise<void> {
  return executeUnawaited(
    unit.sql,
    sql`update account_half set stamp = stamp + 1 where account_id = ${accountId} and kind = 'mail'`,
  )
}
