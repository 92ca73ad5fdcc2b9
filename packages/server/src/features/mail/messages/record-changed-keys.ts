import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { MessageKey } from '../../../providers/mail.ts'
import { keyColumns, keyOf } from './location.ts'

/**
 * A key that the interface changed, or whose message differed from its provider in a comparison, and that the sync has not
 * looked at since.
 */
export interface ChangedKey {
  source: string
  key: MessageKey
  /** It came into its source by the interface, so the cursor of the source does not count it yet. */
  isAdded: boolean
  /** It left its source by the interface. */
  isRemoved: boolean
  /** Another one after each change. */
  mark: string
}

/**
 * Marks keys that the interface changed, or whose messages differ from their provider. From this commit on, ordinary
 * steps of the sync leave them alone, since their view may be older than the change; then the sync looks each of them
 * up at the provider. Sources that are no longer followed are left out.
 */
export async function recordChangedKeys(
  unit: UnitOfWork,
  accountId: string,
  changed: ReadonlyArray<Pick<ChangedKey, 'source' | 'key'> & { isAdded?: boolean; isRemoved?: boolean }>,
): Promise<void> {
  if (changed.length === 0) return
  const rows = changed.map(({ source, key, isAdded = false, isRemoved = false }) => ({
    source,
    ...keyColumns(key),
    is_added: isAdded,
    is_removed: isRemoved,
  }))
  const noted = sql`json_to_recordset(${JSON.stringify(rows)}::json)
    as noted (source text, uid bigint, remote_id text, is_added boolean, is_removed boolean)`
  await executeUnawaited(
    unit.sql,
    sql`
    insert into changed_key as held (account_id, source, uid, remote_id, is_added, is_removed)
    select ${accountId}::uuid, source, uid, remote_id, bool_or(is_added), bool_or(is_removed) from ${noted}
    where exists (select from mailbox where account_id = ${accountId} and mailbox.source = noted.source)
    group by source, uid, remote_id order by source, uid, remote_id
    on conflict (account_id, source, uid, remote_id) do update set mark = gen_random_uuid(),
      is_added = held.is_added or excluded.is_added, is_removed = held.is_removed or excluded.is_removed`,
  )
}

/**
 * `recordChangedKeys` as a part of a statement, of one key that stays in its source.
 * @param rows the key is marked if they have a row
 */
export function markingChangedKey(
  accountId: string,
  { source, key }: Pick<ChangedKey, 'source' | 'key'>,
  rows: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { uid, remote_id } = keyColumns(key)
  return sql`
    insert into changed_key (account_id, source, uid, remote_id, is_added, is_removed)
    select ${accountId}::uuid, ${source}, ${uid}::bigint, ${remote_id}, false, false from ${rows}
    on conflict (account_id, source, uid, remote_id) do update set mark = gen_random_uuid()`
}

/** The changed keys of a source, and the account's changed keys that do not depend on a source. */
export async function listChangedKeys(db: Db, accountId: string, source: string): Promise<ChangedKey[]> {
  const { rows } = await listingChangedKeys(accountId, source).execute(db)
  return rows.map(row => toChangedKey(row))
}

interface ChangedKeyRow {
  source: string
  uid: string | null
  remote_id: string | null
  is_added: boolean
  is_removed: boolean
  mark: string
}

/** The statement of `listChangedKeys`. */
export function listingChangedKeys(accountId: string, source: string): RawBuilder<ChangedKeyRow> {
  return sql`
    select source, uid, remote_id, is_added, is_removed, mark from changed_key
    where account_id = ${accountId} and (source = ${source} or remote_id is not null)`
}

export function toChangedKey(row: ChangedKeyRow): ChangedKey {
  return {
    source: row.source,
    key: keyOf(row)!,
    isAdded: row.is_added,
    isRemoved: row.is_removed,
    mark: row.mark,
  }
}

/** Deletes the marks of keys that were not changed again since they were listed. @returns these keys */
export async function settleChangedKeys(
  unit: UnitOfWork,
  accountId: string,
  listed: readonly ChangedKey[],
): Promise<ChangedKey[]> {
  const { rows } = await sql<{ mark: string }>`
    delete from changed_key where account_id = ${accountId} and mark = any(${listed.map(({ mark }) => mark)}::uuid[])
    returning mark
  `.execute(unit.sql)
  const settled = new Set(rows.map(({ mark }) => mark))
  return listed.filter(({ mark }) => settled.has(mark))
}

/** Forgets the changed keys of a source whose keys are void. */
export async function dropChangedKeys(unit: UnitOfWork, accountId: string, source: string): Promise<void> {
  await sql`delete from changed_key where account_id = ${accountId} and source = ${source}`.execute(unit.sql)
}
