import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { roleOf } from '../../../providers/mailbox-role.ts'
import { refuse } from '../../refuse.ts'
import type { PlacedMailbox } from '../messages/rules.ts'
import { type MailboxRow, mailboxColumns } from './present.ts'
import type { IndexedMailbox } from './rules.ts'

/** Every mailbox of the account as the index has it, with the cursor of its source. */
export async function listIndexedMailboxes(db: Db, accountId: string): Promise<IndexedMailbox[]> {
  const { rows } = await sql<IndexedMailbox>`
    select mailbox.id, provider_key, provider_id, name, path, parent_id, role, kind, mailbox.source, total_count,
      unread_count, is_deleted, cursor
    from mailbox left join sync_cursor on sync_cursor.account_id = mailbox.account_id
      and sync_cursor.source = mailbox.source
    where mailbox.account_id = ${accountId} order by path
  `.execute(db)
  return rows
}

/** Every mailbox of the account, parents before children. */
export async function listMailboxes(db: Db, accountId: string): Promise<MailboxRow[]> {
  // Under the C collation `a/b` sorts after `a` and before `a0`, whatever the names are made of.
  const { rows } = await sql<MailboxRow>`
    select ${mailboxColumns} from mailbox where account_id = ${accountId} and not is_deleted
    order by path collate "C", id
  `.execute(db)
  return rows
}

/** The mailboxes of the account, as what is recorded of messages names them. */
export async function listPlacedMailboxes(db: Db, accountId: string): Promise<PlacedMailbox[]> {
  const { rows } = await sql<{ id: string; key: string; role: string }>`
    select id, provider_key as key, role from mailbox where account_id = ${accountId} and not is_deleted
  `.execute(db)
  return rows.map(row => ({ ...row, role: roleOf(row.role) }))
}

/** Refuses a mailbox id that a query or body names and that is not the account's: `unknown_mailbox`. */
export async function requireMailbox(db: Db, accountId: string, mailboxId: string): Promise<void> {
  const { rows } = await sql`
    select from mailbox where id = ${mailboxId} and account_id = ${accountId} and not is_deleted
  `.execute(db)
  if (rows.length === 0) refuse('unknown_mailbox', { ids: [mailboxId] })
}

/** The mailbox's id where it is the account's, else null; for use inside a statement, which then finds nothing. */
export function ownMailbox(accountId: string, mailboxId: string): RawBuilder<string | null> {
  return sql`(select id from mailbox where id = ${mailboxId} and account_id = ${accountId})`
}
