import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { SEARCH_VERSION } from '../../kit/search-text/version.ts'

/** An account with documents of an earlier version, or messages without a document. */
export interface StaleAccount {
  id: string
  tenant_id: string
  search_version: number
}

/** Lists the next accounts to rewrite, in a stable order. Reads only those, however many accounts there are. */
export async function listStaleAccounts(
  db: Db,
  after: StaleAccount | null,
  limit: number,
): Promise<StaleAccount[]> {
  const { rows } = await sql<StaleAccount>`
    select account_id as id, account_half.tenant_id, search_version
    from account_half join account on account.id = account_id
    where kind = 'mail' and deleted_at is null and search_version < ${SEARCH_VERSION}
      ${after === null ? sql`` : sql`and (search_version, account_id) > (${after.search_version}, ${after.id}::uuid)`}
    order by search_version, account_id limit ${limit}
  `.execute(db)
  return rows
}

export async function countStaleAccounts(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from account_half join account on account.id = account_id
    where kind = 'mail' and deleted_at is null and search_version < ${SEARCH_VERSION}
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Records that every message of the account has a document of this release. */
export async function markCurrent(db: Db, accountId: string): Promise<void> {
  await sql`
    update account_half set search_version = ${SEARCH_VERSION}
    where account_id = ${accountId} and kind = 'mail' and search_version < ${SEARCH_VERSION}
  `.execute(db)
}

/**
 * A statement for a `with`: if a newer release has already rewritten these accounts, what this release writes is stale
 * at once. Both releases run side by side while processes are replaced one by one.
 */
export function lowerVersions(accountIds: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`update account_half set search_version = ${SEARCH_VERSION}
    where account_id in (${accountIds}) and kind = 'mail' and search_version > ${SEARCH_VERSION}`
}
