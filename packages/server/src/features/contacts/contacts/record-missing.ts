import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { recordDeletedContacts } from './record.ts'
import type { ContactAccount } from './rules.ts'

const look = (accountId: string) =>
  sql`(select look from account_half where account_id = ${accountId} and kind = 'contacts')`

/**
 * Notes that contacts are gone from a folder. They may be found in another one, and keep their ids then; `recordLost`
 * deletes those that are not.
 */
export async function markMissing(
  unit: UnitOfWork,
  accountId: string,
  folderId: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return
  await sql`
    update contact set missing_look = ${look(accountId)}
    where account_id = ${accountId} and folder_id = ${folderId} and provider_key = any(${[...keys]}::text[])
      and missing_look is null
  `.execute(unit.sql)
}

/** As `markMissing`, for contacts that the provider was asked about, wherever they were. */
export async function markGone(unit: UnitOfWork, accountId: string, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  await sql`
    update contact set missing_look = ${look(accountId)}
    where account_id = ${accountId} and provider_key = any(${[...keys]}::text[]) and missing_look is null
  `.execute(unit.sql)
}

/** As `markMissing`, for up to `limit` contacts of folders that are gone. @returns how many */
export async function markFolderMissing(
  unit: UnitOfWork,
  accountId: string,
  folderIds: readonly string[],
  limit: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update contact set missing_look = ${look(accountId)}
    where id in (
      select id from contact where folder_id = any(${[...folderIds]}::uuid[]) and missing_look is null limit ${limit})
  `.execute(unit.sql)
  return Number(numAffectedRows)
}

export async function hasMissing(db: Db, accountId: string): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from contact where account_id = ${accountId} and missing_look is not null) as has
  `.execute(db)
  return rows[0]?.has ?? false
}

/**
 * Deletes up to `limit` contacts that were missing before this look, and that it has found nowhere. Contacts that the
 * interface changed meanwhile are asked about first. @returns how many
 */
export async function recordLost(
  unit: UnitOfWork,
  account: ContactAccount,
  { beforeLook, limit }: { beforeLook: number; limit: number },
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select id from contact
    where account_id = ${account.id} and missing_look < ${beforeLook}
      and not exists (
        select from contact_mark as marked
        where marked.account_id = contact.account_id and marked.provider_key = contact.provider_key)
    order by id limit ${limit}
  `.execute(unit.sql)
  await recordDeletedContacts(
    unit,
    account,
    rows.map(({ id }) => id),
  )
  return rows.length
}
