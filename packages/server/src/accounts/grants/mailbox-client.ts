import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { ofHolder } from './store.ts'

/** The client by which a mailbox is opened. A provider counts the calls of each client to each mailbox. */
export interface MailboxClient {
  clientId: string
  /** The provider's id of the user whose grant it is: for a shared mailbox that of its delegate. */
  subject: string | null
  /** The provider's id of the inbox of that user; null before the mailboxes of their account were listed. */
  inboxId: string | null
}

/** Null if the account is gone, or not opened by OAuth. */
export async function findMailboxClient(db: Db, accountId: string): Promise<MailboxClient | null> {
  const { rows } = await sql<MailboxClient>`
    select client_id as "clientId", holder.subject, (
      select provider_key from mailbox
      where mailbox.account_id = holder.id and role = 'inbox' and not is_deleted
      limit 1
    ) as "inboxId"
    from account join account as holder on ${ofHolder}
    join oauth_grant on oauth_grant.account_id = holder.id
    where account.id = ${accountId} and account.deleted_at is null
  `.execute(db)
  return rows[0] ?? null
}

/** The inbox of a mailbox, and the subject of the shared mailboxes that have it. */
export interface MailboxInbox {
  id: string
  sharedSubject: string
}

/**
 * Whether no older account, of any tenant, is the same mailbox opened by the same client. A mailbox may be the account of
 * its user and a shared mailbox. A shared mailbox recognises the account of the user by its inbox, since a mailbox has
 * several addresses, and by its address before the mailboxes of that account were listed.
 * @param inbox null if it is not known
 */
export async function isFirstOfMailbox(
  db: Db,
  accountId: string,
  inbox: MailboxInbox | null,
): Promise<boolean> {
  const { rows } = await sql`
    select from account
    join oauth_grant on oauth_grant.account_id = coalesce(account.delegate_account_id, account.id)
    join account as other on (
      other.subject = account.subject or other.subject = ${inbox?.sharedSubject ?? null}
      or account.auth_method = 'delegate' and other.auth_method = 'oauth' and other.id = any(array(
        select account_id from mailbox
        where provider_key = ${inbox?.id ?? null} and role = 'inbox' and upper(provider_key) <> 'INBOX' and not is_deleted
      ))
      or account.auth_method = 'delegate' and other.auth_method = 'oauth' and lower(other.email) = lower(account.email)
    )
    join oauth_grant as other_grant
      on other_grant.account_id = coalesce(other.delegate_account_id, other.id)
    where account.id = ${accountId} and other.deleted_at is null and other.id < account.id
      and other.provider = account.provider and other.cloud is not distinct from account.cloud
      and other_grant.client_id = oauth_grant.client_id
    limit 1
  `.execute(db)
  return rows.length === 0
}
