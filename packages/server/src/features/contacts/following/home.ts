import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { HomeStore } from '../../../sync/looks/former-home.ts'
import { findHome, storeHome } from '../contacts/home.ts'
import { recordDeletedContacts } from '../contacts/record.ts'
import type { ContactAccount } from '../contacts/rules.ts'

const DELETED_AT_ONCE = 200

export const CONTACT_HOMES: HomeStore<{ account: ContactAccount }> = {
  find: findHome,
  store: storeHome,
  deleteSome,
  forget,
}

async function deleteSome(unit: UnitOfWork, { account }: { account: ContactAccount }): Promise<boolean> {
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
}

async function forget(unit: UnitOfWork, accountId: string): Promise<void> {
  for (const table of ['contact_mark', 'quarantined_contact', 'contact_folder'] as const)
    await unit.sql.deleteFrom(table).where('account_id', '=', accountId).execute()
}
