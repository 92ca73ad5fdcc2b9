import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/** A key of a calendar that the interface changed, and that the sync has not asked the provider about since. */
export interface MarkedKey {
  calendarId: string
  key: string
  /** Another one after each change. */
  mark: string
}

/**
 * Marks items that the interface changed. From this commit on, ordinary steps of the sync leave them alone, since what they
 * read may be older than the change; then the sync asks the provider about each of them.
 */
export async function recordMarks(
  unit: UnitOfWork,
  accountId: string,
  calendarId: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return
  await sql`
    insert into calendar_mark (account_id, calendar_id, provider_key)
    select ${accountId}::uuid, ${calendarId}::uuid, key from unnest(${[...new Set(keys)]}::text[]) as key order by key
    on conflict (calendar_id, provider_key) do update set mark = gen_random_uuid()
  `.execute(unit.sql)
}

export async function listMarks(db: Db, accountId: string, limit: number): Promise<MarkedKey[]> {
  const { rows } = await sql<MarkedKey>`
    select calendar_id as "calendarId", provider_key as key, mark from calendar_mark where account_id = ${accountId}
    order by calendar_id, provider_key limit ${limit}
  `.execute(db)
  return rows
}

/** The keys of a calendar that are marked. */
export async function findMarked(
  unit: UnitOfWork,
  calendarId: string,
  keys: readonly string[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    select provider_key as key from calendar_mark
    where calendar_id = ${calendarId} and provider_key = any(${[...keys]}::text[])
  `.execute(unit.sql)
  return new Set(rows.map(({ key }) => key))
}

/** Deletes the marks of keys that were not changed again since they were listed. @returns these keys */
export async function settleMarks(
  unit: UnitOfWork,
  calendarId: string,
  listed: readonly MarkedKey[],
): Promise<Set<string>> {
  const { rows } = await sql<{ key: string }>`
    delete from calendar_mark
    where calendar_id = ${calendarId} and mark = any(${listed.map(({ mark }) => mark)}::uuid[])
    returning provider_key as key
  `.execute(unit.sql)
  return new Set(rows.map(({ key }) => key))
}
