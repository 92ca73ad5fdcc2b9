import { sql } from 'kysely'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { SEARCH_VERSION } from '../../kit/search-text/version.ts'
import { abilitiesOf } from '../../providers/abilities.ts'
import type { AccountView } from '../row.ts'
import { effectiveSettings, enabledKinds } from '../settings.ts'
import { ALL_KINDS, type HalfKind } from './kind.ts'
import { RESTART } from './wanted.ts'

/** Inserts the half of the mail of a new account. It has no messages yet, and the sync writes their documents. */
export async function insertMailHalf(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    insert into account_half (account_id, tenant_id, kind, search_version)
    values (${accountId}, ${unit.tenantId}, 'mail', ${SEARCH_VERSION})
  `.execute(unit.sql)
}

/** The kinds that are switched on and followed at the account's provider, and of which the account has no half yet. */
export function lackingHalves(account: AccountView): HalfKind[] {
  const enabled = enabledKinds(effectiveSettings(account.tenant_settings, account))
  const { followed } = abilitiesOf(account.provider)
  const held = new Set<HalfKind>(['mail', ...(account.other_halves ?? []).map(({ kind }) => kind)])
  return enabled.filter(kind => followed.includes(kind) && !held.has(kind))
}

/** Gives locked accounts the halves that they lack. */
export async function addLackingHalves(unit: UnitOfWork, accounts: readonly AccountView[]): Promise<void> {
  for (const kind of ALL_KINDS) {
    const lacking = accounts.filter(account => lackingHalves(account).includes(kind))
    await addHalves(
      unit,
      lacking.map(({ id }) => id),
      kind,
    )
  }
}

/**
 * Gives locked accounts a half of this kind, which they keep when it is switched off. It has the owner of its account,
 * who begins to follow it. Does nothing for accounts that have one.
 */
export async function addHalves(
  unit: UnitOfWork,
  accountIds: readonly string[],
  kind: HalfKind,
): Promise<void> {
  if (accountIds.length === 0) return
  await sql`
    insert into account_half (account_id, tenant_id, kind, owner_instance, owner_epoch, sync_wanted, behind_since)
    select id, tenant_id, ${kind}, case when status = 'active' and deleted_at is null then owner_instance end,
      owner_epoch, ${[RESTART]}::text[], clock_timestamp()
    from account where id = any(${[...accountIds]}::uuid[]) and tenant_id = ${unit.tenantId}
    order by id on conflict do nothing
  `.execute(unit.sql)
}

/** Deletes the halves of an account that is purged. A process that still holds one can no longer write. */
export async function deleteHalves(unit: UnitOfWork, accountId: string): Promise<void> {
  await unit.sql.deleteFrom('account_half').where('account_id', '=', accountId).execute()
}
