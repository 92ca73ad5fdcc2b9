import type { AccountView } from '../../../accounts/row.ts'
import { effectiveSettings, grantedHalves } from '../../../accounts/settings.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { isUuid } from '../../../kit/ids.ts'
import { requireAccountView } from '../../accounts/accounts/access.ts'
import type { ContactRow } from './contact-row.ts'
import { findContact } from './store.ts'

/** Returns the account of the path, whose contacts are switched on; otherwise refuses with `contacts_disabled`. */
export async function requireContacts(context: RequestContext, accountId: string): Promise<AccountView> {
  const account = await requireAccountView(context, accountId)
  if (!effectiveSettings(account.tenant_settings, account).contactsEnabled) refuse('contacts_disabled')
  return account
}

/** Refuses with `scope_missing` unless the grant of the account allows its contacts to be changed. */
export function requireWritable(account: AccountView): void {
  if (grantedHalves(account).contacts !== 'writes') refuse('scope_missing')
}

/** Returns the account and the contact of the path. A malformed id is refused like one that never existed. */
export async function requireContact(
  context: RequestContext,
  params: { accountId: string; contactId: string },
): Promise<{ account: AccountView; contact: ContactRow }> {
  const account = await requireContacts(context, params.accountId)
  const id = params.contactId.toLowerCase()
  const contact = isUuid(id) ? await findContact(context.db, account.id, id) : null
  return { account, contact: contact ?? refuse('contact_not_found') }
}
