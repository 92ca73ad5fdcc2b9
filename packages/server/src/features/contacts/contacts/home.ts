import type { AccountView } from '../../../accounts/row.ts'
import type { Db } from '../../../database/pool.ts'

/** Contacts that come with a mailbox. */
const OF_MAILBOX = 'mailbox'

/** Where the contacts of an account come from: host and path. Null if it has none. */
export function homeOf({ imap }: Pick<AccountView, 'imap'>): string | null {
  if (!imap) return OF_MAILBOX
  const url = URL.parse(imap.dav?.contactsUrl ?? '')
  return url && `${url.host}${url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`}`
}

/** Where the contacts of an account that are in the index come from; null if it has none yet. */
export async function findHome(db: Db, accountId: string): Promise<string | null> {
  const row = await db
    .selectFrom('contact_home')
    .select('home')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row?.home ?? null
}
