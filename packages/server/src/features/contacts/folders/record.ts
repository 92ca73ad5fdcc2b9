import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { RemoteContactFolder } from '../../../providers/contacts.ts'
import type { Cursor } from '../../../providers/mail.ts'
import type { ContactAccount } from '../contacts/rules.ts'
import { type FolderColumns, planFolders } from './rules.ts'
import { type IndexedFolder, listIndexedFolders } from './store.ts'

const COLUMNS = sql.raw(`(id uuid, provider_key text, name text, position integer, is_default boolean,
  is_read_only boolean, is_shown boolean)`)

/**
 * Brings the folders of the index to those that the provider lists. Folders have no events. Folders that the list lacks
 * stay until their contacts are deleted (`recordVanishedFolders`). The contacts of the account must be locked.
 * @param isShown whether the provider has folders
 */
export async function recordFolders(
  unit: UnitOfWork,
  account: ContactAccount,
  remotes: readonly RemoteContactFolder[],
  isShown: boolean,
): Promise<{ folders: IndexedFolder[]; vanished: IndexedFolder[] }> {
  const indexed = await listIndexedFolders(unit.sql, account.id)
  const { inserted, updated, vanished } = planFolders(indexed, remotes, isShown)
  await insertFolders(unit, account, inserted)
  await updateFolders(unit, updated)
  const isSame = inserted.length === 0 && updated.length === 0
  const all = isSame ? indexed : await listIndexedFolders(unit.sql, account.id)
  const gone = new Set(vanished.map(({ id }) => id))
  return { folders: all.filter(({ id }) => !gone.has(id)), vanished }
}

async function insertFolders(
  unit: UnitOfWork,
  account: ContactAccount,
  inserted: readonly FolderColumns[],
): Promise<void> {
  if (inserted.length === 0) return
  await sql`
    insert into contact_folder (id, tenant_id, account_id, provider_key, name, position, is_default, is_read_only,
      is_shown)
    select id, ${account.tenantId}::uuid, ${account.id}::uuid, provider_key, name, position, is_default, is_read_only,
      is_shown
    from json_to_recordset(${JSON.stringify(inserted)}::json) as inserted ${COLUMNS}
  `.execute(unit.sql)
}

async function updateFolders(unit: UnitOfWork, updated: readonly FolderColumns[]): Promise<void> {
  if (updated.length === 0) return
  await sql`
    update contact_folder set name = next.name, position = next.position, is_default = next.is_default,
      is_read_only = next.is_read_only, is_shown = next.is_shown
    from json_to_recordset(${JSON.stringify(updated)}::json) as next ${COLUMNS}
    where contact_folder.id = next.id
  `.execute(unit.sql)
}

/** Stores how far a folder is recorded, in the transaction of the step. */
export async function recordCursor(
  unit: UnitOfWork,
  folderId: string,
  { cursor, isComplete }: { cursor: Cursor | null; isComplete: boolean },
): Promise<void> {
  await sql`
    update contact_folder set cursor = ${cursor && JSON.stringify(cursor)}::jsonb,
      is_complete = is_complete or ${isComplete}
    where id = ${folderId}
  `.execute(unit.sql)
}

/** Has folders compared as a whole the next time that they are followed. */
export async function dropCursors(unit: UnitOfWork, folderIds: readonly string[]): Promise<void> {
  await sql`update contact_folder set cursor = null where id = any(${[...folderIds]}::uuid[])`.execute(
    unit.sql,
  )
}

/** Deletes vanished folders that hold no contact any more. */
export async function recordVanishedFolders(
  unit: UnitOfWork,
  account: ContactAccount,
  folderIds: readonly string[],
): Promise<void> {
  await sql`
    delete from contact_folder
    where account_id = ${account.id} and id = any(${[...folderIds]}::uuid[])
      and not exists (select from contact where contact.folder_id = contact_folder.id)
  `.execute(unit.sql)
}
