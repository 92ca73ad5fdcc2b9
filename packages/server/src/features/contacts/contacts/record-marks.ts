import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/** A key that the interface changed, and that the sync has not asked the provider about since. */
export interface MarkedKey {
  key: string
  /** Another one after each change. */
  mark: string
}

/**
 * Marks contacts that the interface changed. From this commit on, ordinary steps of the sync leave them alone, since what
 * they read may be older than the change; then the sync asks the provider about each of them.
 */
export async function recordMarks(
  unit: UnitOfWork,
  accountId: string,
  keys: readonly string[],
): Promise<void> {
  await sql`
    insert into contact_mark (account_id, provider_key)
    select ${accountId}::uuid, key from unnest(${[...keys]}::text[]) as key
    on conflict (account_id, provider_key) do update set mark = gen_random_uuid()
  `.execute(unit.sql)
}

export async function listMarks(db: Db, accountId: string, limit: number): Promise<MarkedKey[]> {
  const { rows } = await sql<MarkedKey>`
    select provider_key as key, mark from contact_mark where account_id = ${accountId}
    order by provider_key limit ${limit}
  `.execute(db)
  return rows
}

/** The keys among these that are marked. */
export function listingMarked(accountId: string, keys: readonly string[]): RawBuilder<{ key: string }> {
  return sql`
    select provider_key as key from contact_mark
    where account_id = ${accountId} and provider_key = any(${[...keys]}::text[])`
}

export async function findMarked(db: Db, accountId: string, keys: readonly string[]): Promise<string[]> {
  if (keys.length === 0) return []
  const { rows } = await listingMarked(accountId, keys).execute(db)
  return rows.map(({ key }) => key)
}

/** Deletes the marks of keys that were not changed again since they were listed. @returns these keys */
export async function settleMarks(
  unit: UnitOfWork,
  accountId: string,
  listed: readonly MarkedKey[],
): Promise<Set<string>> {
  const { rows } = await sql<{ key: string }>`
    delete from contact_mark where account_id = ${accountId} and mark = any(${listed.map(({ mark }) => mark)}::uuid[])
    returning provider_key as key
  `.execute(unit.sql)
  return new Set(rows.map(({ key }) => key))
}
