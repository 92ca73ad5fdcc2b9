import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { roleOf } from '../../../providers/mailbox-role.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { PlacedMailbox } from '../messages/rules.ts'
import { type MailboxRow, mailboxColumns } from './present.ts'
import type { IndexedMailbox } from './rules.ts'

/** The columns of an `IndexedMailbox`, from `mailbox` and `withCursor`. */
export const indexedColumns = sql.raw(
  `mailbox.id, provider_key, provider_id, name, path, parent_id, role, kind, mailbox.source, total_count, unread_count,
    is_deleted, cursor`,
)
export const withCursor = sql.raw(
  `left join sync_cursor on sync_cursor.account_id = mailbox.account_id and sync_cursor.source = mailbox.source`,
)

/** Every mailbox of the account as the index has it, with the cursor of its source. */
export async function listIndexedMailboxes(db: Db, accountId: string): Promise<IndexedMailbox[]> {
  const { rows } = await sql<IndexedMailbox>`
    select ${indexedColumns} from mailbox ${withCursor} where mailbox.account_id = ${accountId} order by path
  `.execute(db)
  return rows
}

/** A mailbox as changes at the provider need it. */
export interface ProviderMailbox extends MailboxRow {
  provider_key: string
  /** Null if it cannot hold messages. */
  source: string | null
}

const providerColumns = sql.raw('provider_key, source')

/** Every mailbox of the account, parents before children. */
export async function listMailboxes(db: Db, accountId: string): Promise<MailboxRow[]> {
  // Under the C collation `a/b` sorts after `a` and before `a0`, for any names.
  const { rows } = await sql<MailboxRow>`
    select ${mailboxColumns} from mailbox where account_id = ${accountId} and not is_deleted
    order by path collate "C", id
  `.execute(db)
  return rows
}

/** The mailboxes of the account, in the form in which records of messages name them. */
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

/** Mailboxes of the account by id. Refuses with `unknown_mailbox` if one of the ids is not the account's. */
export async function requireMailboxes(
  db: Db,
  accountId: string,
  mailboxIds: readonly string[],
): Promise<Map<string, ProviderMailbox>> {
  if (mailboxIds.length === 0) return new Map()
  const { rows } = await sql<ProviderMailbox>`
    select ${mailboxColumns}, ${providerColumns} from mailbox
    where account_id = ${accountId} and id = any(${mailboxIds}::uuid[]) and not is_deleted
  `.execute(db)
  const found = new Map(rows.map(row => [row.id, row]))
  const unknown = [...new Set(mailboxIds)].filter(id => !found.has(id))
  if (unknown.length > 0) refuse('unknown_mailbox', { ids: unknown })
  return found
}

/** Every mailbox of the account, as changes at the provider need it. */
export async function listProviderMailboxes(db: Db, accountId: string): Promise<ProviderMailbox[]> {
  const { rows } = await sql<ProviderMailbox>`
    select ${mailboxColumns}, ${providerColumns} from mailbox where account_id = ${accountId} and not is_deleted
  `.execute(db)
  return rows
}

/** The account's mailbox with this role; null if the index has none. */
export async function findMailboxByRole(
  db: Db,
  accountId: string,
  role: MailboxRow['role'],
): Promise<ProviderMailbox | null> {
  const { rows } = await sql<ProviderMailbox>`
    select ${mailboxColumns}, ${providerColumns} from mailbox
    where account_id = ${accountId} and role = ${role} and not is_deleted order by path collate "C" limit 1
  `.execute(db)
  return rows[0] ?? null
}

/** The mailbox's id if it belongs to the account, else null; for use inside a statement, which then finds nothing. */
export function ownMailbox(accountId: string, mailboxId: string): RawBuilder<string | null> {
  return sql`(select id from mailbox where id = ${mailboxId} and account_id = ${accountId})`
}
