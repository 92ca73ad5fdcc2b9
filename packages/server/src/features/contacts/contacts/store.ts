import { type RawBuilder, sql } from 'kysely'
import { rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { type ContactRow, contactColumns } from './contact-row.ts'
import { lowerCase } from './rules.ts'

/** Shorter texts have no trigram, by which the index would find them. */
const TRIGRAM_CHARACTERS = 3

/** The position in a list. The next page starts after it. */
export interface ByName {
  sortName: string
  id: string
}

export interface ContactFilters {
  q: string | undefined
  folderId: string | undefined
}

/** Lists a page of contacts by their names, and at least one more if there is one. */
export async function listContacts(
  db: Db,
  accountId: string,
  { filters, position, limit }: { filters: ContactFilters; position: ByName | null; limit: number },
): Promise<ContactRow[]> {
  const { q, folderId } = filters
  const conditions: RawBuilder<unknown>[] = [sql`contact.account_id = ${accountId}`]
  if (folderId !== undefined) conditions.push(sql`contact.folder_id = ${folderId}`)
  if (q !== undefined) conditions.push(contains(q))
  if (position) conditions.push(sql`(sort_name, contact.id) > (${position.sortName}, ${position.id}::uuid)`)
  const { rows } = await sql<ContactRow>`
    select ${contactColumns} from contact where ${sql.join(conditions, sql` and `)}
    order by sort_name, contact.id limit ${rowsToRead(limit)}
  `.execute(db)
  return rows
}

/** No index finds one or two letters: the contacts are read in their order, until the page is full. */
function contains(q: string): RawBuilder<boolean> {
  const text = lowerCase(q)
  if ([...text].length < TRIGRAM_CHARACTERS) return sql`position(${text} in search_text) > 0`
  const pattern = `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return sql`search_text like ${pattern}`
}

/** Whether the account has a contact with this address, as `comparedAddress` has it. */
export async function hasContactAddress(db: Db, accountId: string, address: string): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (
      select from contact cross join lateral jsonb_array_elements(emails) as email
      where contact.account_id = ${accountId} and ${contains(address)} and lower(email ->> 'address') = ${address}
    ) as has
  `.execute(db)
  return rows[0]?.has ?? false
}

export async function findContact(db: Db, accountId: string, id: string): Promise<ContactRow | null> {
  const { rows } = await sql<ContactRow>`
    select ${contactColumns} from contact where account_id = ${accountId} and contact.id = ${id}
  `.execute(db)
  return rows[0] ?? null
}

/** The versions that the index has of a folder, by key, of contacts that could not be read as well. */
export async function loadKnownVersions(
  db: Db,
  folderId: string,
  readerVersion: number,
): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; version: string }>`
    select provider_key as key, version, 1 as nth from contact
    where folder_id = ${folderId} and missing_look is null
    union all
    select provider_key, version, 2 from quarantined_contact
    where folder_id = ${folderId} and version is not null and reader_version >= ${readerVersion}
    order by nth
  `.execute(db)
  // A contact that became unreadable is in both, and the later version counts.
  return new Map(rows.map(({ key, version }) => [key, version]))
}

/** The versions that the index has of the contacts of a folder, by key. */
export async function loadVersions(db: Db, folderId: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; version: string }>`
    select provider_key as key, version from contact where folder_id = ${folderId} and missing_look is null
  `.execute(db)
  return new Map(rows.map(({ key, version }) => [key, version]))
}

/** An id that more contacts have than this does not tell them apart. */
export const SAME_UID_MAX = 10

/**
 * Contacts of the index with the uid of one of these, which the index does not have under its key. They have moved, unless
 * they are copies: by the keys of these contacts.
 */
export async function listSameUid(
  db: Db,
  accountId: string,
  arrived: ReadonlyArray<{ key: string; uid: string }>,
): Promise<string[]> {
  if (arrived.length === 0) return []
  const { rows } = await sql<{ key: string }>`
    select distinct held.provider_key as key
    from json_to_recordset(${JSON.stringify(arrived)}::json) as arrived (key text, uid text)
    cross join lateral (
      select provider_key, missing_look, count(*) over () as sharing from (
        select provider_key, missing_look from contact
        where account_id = ${accountId} and contact.uid = arrived.uid limit ${SAME_UID_MAX + 1}) as few
    ) as held
    where held.sharing <= ${SAME_UID_MAX} and held.provider_key <> arrived.key and held.missing_look is null
      and not exists (
        select from contact as known where known.account_id = ${accountId} and known.provider_key = arrived.key)
    order by key
  `.execute(db)
  return rows.map(({ key }) => key)
}
