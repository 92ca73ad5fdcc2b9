import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Cursor } from '../../../providers/mail.ts'
import { refuse } from '../../../calls/refuse.ts'

export interface FolderRow {
  id: string
  name: string
  is_default: boolean
}

/** The folders that are shown, the default one first, then in the order of the provider. */
export async function listShownFolders(db: Db, accountId: string): Promise<FolderRow[]> {
  const { rows } = await sql<FolderRow>`
    select id, name, is_default from contact_folder where account_id = ${accountId} and is_shown
    order by is_default desc, position, id
  `.execute(db)
  return rows
}

/** Returns the provider's key of a folder. Refuses the id of no folder of the account: `unknown_contact_folder`. */
export async function requireFolderKey(db: Db, accountId: string, id: string): Promise<string> {
  const row = await db
    .selectFrom('contact_folder')
    .select('provider_key')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('is_shown', '=', true)
    .executeTakeFirst()
  return row?.provider_key ?? refuse('unknown_contact_folder')
}

/** A folder as the sync follows it. */
export interface IndexedFolder {
  id: string
  key: string
  name: string
  position: number
  isDefault: boolean
  isReadOnly: boolean
  isShown: boolean
  cursor: Cursor | null
  /** Whether it was read to its end once. */
  isComplete: boolean
}

export async function listIndexedFolders(db: Db, accountId: string): Promise<IndexedFolder[]> {
  const { rows } = await sql<IndexedFolder>`
    select id, provider_key as key, name, position, is_default as "isDefault", is_read_only as "isReadOnly",
      is_shown as "isShown", cursor, is_complete as "isComplete"
    from contact_folder where account_id = ${accountId} order by position, id
  `.execute(db)
  return rows
}

/** Numbers of folders that are shown, and of contacts. */
export async function countContents(
  db: Db,
  accountId: string,
): Promise<{ folders: number; contacts: number }> {
  const { rows } = await sql<{ folders: number; contacts: number }>`
    select
      (select count(*)::int from contact_folder where account_id = ${accountId} and is_shown) as folders,
      (select count(*)::int from contact where account_id = ${accountId}) as contacts
  `.execute(db)
  return rows[0] ?? { folders: 0, contacts: 0 }
}
