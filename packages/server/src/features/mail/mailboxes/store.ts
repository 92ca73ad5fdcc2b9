import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { refuse } from '../../refuse.ts'
import { type MailboxRow, mailboxColumns } from './present.ts'

/** Every mailbox of the account, parents before children. */
export async function listMailboxes(db: Db, accountId: string): Promise<MailboxRow[]> {
  // Under the C collation `a/b` sorts after `a` and before `a0`, whatever the names are made of.
  const { rows } = await sql<MailboxRow>`
    select ${mailboxColumns} from mailbox where account_id = ${accountId} order by path collate "C", id
  `.execute(db)
  return rows
}

/** Refuses a mailbox id that a query or body names and that is not the account's: `unknown_mailbox`. */
export async function requireMailbox(db: Db, accountId: string, mailboxId: string): Promise<void> {
  const { rows } = await sql`
    select from mailbox where id = ${mailboxId} and account_id = ${accountId}
  `.execute(db)
  if (rows.length === 0) refuse('unknown_mailbox', { ids: [mailboxId] })
}

/** The mailbox's id where it is the account's, else null; for use inside a statement, which then finds nothing. */
export function ownMailbox(accountId: string, mailboxId: string): RawBuilder<string | null> {
  return sql`(select id from mailbox where id = ${mailboxId} and account_id = ${accountId})`
}
