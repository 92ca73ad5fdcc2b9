import { sql } from 'kysely'
import { storableUnreadable, UNVERSIONED_RETRY_HOURS } from '../../../accounts/halves/quarantined.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { UnreadableContact } from '../../../providers/contacts.ts'

/** Raise it when the adapters learn to read more: every quarantined contact is then read again. */
export const READER_VERSION = 1

/**
 * Keeps contacts that could not be read, until they have another version. A contact that the index has stays as it was last
 * read.
 */
export async function quarantine(
  unit: UnitOfWork,
  accountId: string,
  folderId: string,
  unreadable: readonly UnreadableContact[],
): Promise<void> {
  if (unreadable.length === 0) return
  await sql`
    insert into quarantined_contact (account_id, folder_id, provider_key, version, reason, reader_version,
      next_attempt_at)
    select ${accountId}::uuid, ${folderId}::uuid, key, version, reason, ${READER_VERSION}::smallint,
      case when version is null then clock_timestamp() + make_interval(hours => ${UNVERSIONED_RETRY_HOURS}::int)
        else 'infinity' end
    from json_to_recordset(${JSON.stringify(storableUnreadable(unreadable))}::json)
      as failed (key text, version text, reason text)
    order by key
    on conflict (account_id, provider_key) do update set folder_id = excluded.folder_id, version = excluded.version,
      reason = excluded.reason, reader_version = excluded.reader_version, next_attempt_at = excluded.next_attempt_at
  `.execute(unit.sql)
}

/** Forgets contacts that could be read after all, or that the provider does not have any more. */
export async function releaseFromQuarantine(
  unit: UnitOfWork,
  accountId: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return
  await sql`
    delete from quarantined_contact where account_id = ${accountId} and provider_key = any(${[...keys]}::text[])
  `.execute(unit.sql)
}

/** Keys of contacts that are to be read again, with their folders. */
export async function listDue(
  db: Db,
  accountId: string,
  limit: number,
): Promise<Array<{ key: string; folderId: string }>> {
  const { rows } = await sql<{ key: string; folderId: string }>`
    select provider_key as key, folder_id as "folderId" from quarantined_contact
    where account_id = ${accountId} and (next_attempt_at <= clock_timestamp() or reader_version < ${READER_VERSION})
    order by provider_key limit ${limit}
  `.execute(db)
  return rows
}

export async function listQuarantinedKeys(db: Db, folderId: string): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select provider_key as key from quarantined_contact where folder_id = ${folderId}
  `.execute(db)
  return rows.map(({ key }) => key)
}

export async function countQuarantined(db: Db, accountId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from quarantined_contact where account_id = ${accountId}
  `.execute(db)
  return rows[0]?.count ?? 0
}

export async function countAllQuarantined(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from quarantined_contact
  `.execute(db)
  return rows[0]?.count ?? 0
}
