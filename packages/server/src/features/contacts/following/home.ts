import { sql } from 'kysely'
import { holdingOwned } from '../../../accounts/halves/lock.ts'
import { FenceLost, type OwnedAccount } from '../../../accounts/halves/ownership.ts'
import { holdAccount, recordEnded } from '../../../accounts/halves/progress.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { findHome } from '../contacts/home.ts'
import { recordDeletedContacts } from '../contacts/record.ts'
import { loadLockedContacts } from '../contacts/record-account.ts'
import { underFence } from './session.ts'

const DELETED_AT_ONCE = 200
/**
 * Takes the contacts of a former home out of the index, announces each, and lets the half begin again. The home that it has
 * now is remembered.
 * @throws FenceLost
 */
export async function endFormerHome(db: Db, owned: OwnedAccount, home: string | null): Promise<void> {
  const known = await findHome(db, owned.id)
  if (known === home) return
  if (known !== null) while (await deleteSome(db, owned));
  await inTransaction(db, owned.tenantId, async unit => {
    await holdAccount(unit, owned.id)
    const loaded = await loadLockedContacts(unit, owned.id, holdingOwned(owned, 'contacts'), [])
    if (!loaded) throw new FenceLost(owned.id)
    if (known !== null) await forgetContents(unit, owned.id)
    await storeHome(unit, owned.id, home)
  })
}

/** @returns whether there may be more */
function deleteSome(db: Db, owned: OwnedAccount): Promise<boolean> {
  return underFence({ db, owned }, [], async (unit, account) => {
    const rows = await unit.sql
      .selectFrom('contact')
      .select('id')
      .where('account_id', '=', account.id)
      .limit(DELETED_AT_ONCE)
      .execute()
    await recordDeletedContacts(
      unit,
      account,
      rows.map(({ id }) => id),
    )
    return rows.length === DELETED_AT_ONCE
  })
}

/** Forgets folders, marks and unreadable contacts of a home whose contacts are deleted. */
async function forgetContents(unit: UnitOfWork, accountId: string): Promise<void> {
  for (const table of ['contact_mark', 'quarantined_contact', 'contact_folder'] as const)
    await unit.sql.deleteFrom(table).where('account_id', '=', accountId).execute()
  await recordEnded(unit, accountId, 'contacts')
}

async function storeHome(unit: UnitOfWork, accountId: string, home: string | null): Promise<void> {
  await (
    home === null
      ? sql`delete from contact_home where account_id = ${accountId}`
      : sql`
        insert into contact_home (account_id, home) values (${accountId}, ${home})
        on conflict (account_id) do update set home = excluded.home`
  ).execute(unit.sql)
}
