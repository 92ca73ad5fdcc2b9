import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { ofHolder } from './store.ts'

/** The client by which a mailbox is opened. A provider counts the calls of each client to each mailbox. */
export interface MailboxClient {
  clientId: string
  /** The provider's id of the user whose grant it is: for a shared mailbox that of its delegate. */
  subject: string | null
  /** Whether no older account, of whichever tenant, is the same mailbox opened by the same client. */
  isFirst: boolean
}

/** Null if the account is gone, or not opened by OAuth. */
export async function findMailboxClient(db: Db, accountId: string): Promise<MailboxClient | null> {
  const { rows } = await sql<MailboxClient>`
    select client_id as "clientId", holder.subject, not exists (
      select from account as other
      join oauth_grant as other_grant
        on other_grant.account_id = coalesce(other.delegate_account_id, other.id)
      where other.subject = account.subject and other.deleted_at is null and other.id < account.id
        and other.provider = account.provider and other.cloud is not distinct from account.cloud
        and other_grant.client_id = oauth_grant.client_id
    ) as "isFirst"
    from account join account as holder on ${ofHolder}
    join oauth_grant on oauth_grant.account_id = holder.id
    where account.id = ${accountId} and account.deleted_at is null
  `.execute(db)
  return rows[0] ?? null
}
