import type { AccountView } from '../../../accounts/row.ts'
import { findGranted } from '../../../accounts/grants/store.ts'
import type { Db } from '../../../database/pool.ts'
import { refuse } from '../../../calls/refuse.ts'
import { abilitiesOf } from '../../../providers/abilities.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import { requireConnectable } from '../accounts/access.ts'

/** Refuses unless shared mailboxes can be opened with the account's own grant, as it is now. */
export async function requireDelegate(db: Db, signIns: SignIns, account: AccountView): Promise<void> {
  const { hasSharedMailboxes, signInAt } = abilitiesOf(account.provider)
  if (!hasSharedMailboxes || signInAt === null) refuse('shared_mailbox_unsupported')
  if (account.auth_method === 'delegate') refuse('shared_mailbox_account')
  if (account.auth_method === 'org_connection') refuse('org_connection_account')
  requireConnectable(account)
  const granted = await findGranted(db, account.id)
  const signIn = signIns.at({ provider: signInAt, cloud: account.cloud })
  if (!granted || signIn?.sharesMailboxes(granted.scopes) !== true) refuse('scope_missing')
}
