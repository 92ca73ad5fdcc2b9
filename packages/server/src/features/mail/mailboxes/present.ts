import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import { sql } from 'kysely'

/** A mailbox row with the columns that the interface shows; select it with `mailboxColumns`. */
export interface MailboxRow {
  id: string
  name: string
  path: string
  parent_id: string | null
  role: Mailbox['role']
  kind: Mailbox['kind']
  total_count: number | null
  unread_count: number | null
}

/** The columns of `MailboxRow`, for `select` from `mailbox`. */
export const mailboxColumns = sql.raw('id, name, path, parent_id, role, kind, total_count, unread_count')

export function presentMailbox(row: MailboxRow): Mailbox {
  return {
    id: row.id,
    name: row.name,
    path: row.path,
    parentId: row.parent_id,
    role: row.role,
    kind: row.kind,
    totalCount: row.total_count,
    unreadCount: row.unread_count,
  }
}
