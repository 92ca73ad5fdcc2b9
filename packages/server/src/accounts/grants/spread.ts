import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { executeUnawaited } from '../../database/unawaited.ts'
import { inTransaction, type UnitOfWork } from '../../events/unit-of-work.ts'
import { FIRST_ID } from '../../kit/ids.ts'
import { followPage } from '../shared/follow-delegate.ts'

/** Grants with news for shared mailboxes that one run finds at once. */
const BATCH_GRANTS = 100

/** Leaves all shared mailboxes of an account that needs a new grant to `spreadGrants`. Does nothing if it has none. */
export function spreadToShared(unit: UnitOfWork, accountId: string): Promise<void> {
  return executeUnawaited(
    unit.sql,
    sql`
    update oauth_grant set spread_after = ${FIRST_ID}
    where account_id = ${accountId} and exists (
      select from account where delegate_account_id = ${accountId} and deleted_at is null)`,
  )
}

/** Stores up to which id the shared mailboxes of a locked account have followed its grant; null: all of them. */
export async function recordSpread(
  unit: UnitOfWork,
  accountId: string,
  spreadAfter: string | null,
): Promise<void> {
  await unit.sql
    .updateTable('oauth_grant')
    .set({ spread_after: spreadAfter })
    .where('account_id', '=', accountId)
    .execute()
}

/**
 * Lets shared mailboxes follow the refusals of grants, page by page, each in a transaction of its own. The next run does
 * the pages that a killed process left.
 */
export async function spreadGrants(
  db: Db,
  wake: (accountId: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let after = FIRST_ID
  while (!signal.aborted) {
    const pending = await listPending(db, after)
    for (const account of pending) {
      while (!signal.aborted && (await spreadPage(db, account, wake)));
      after = account.id
    }
    if (pending.length < BATCH_GRANTS) return
  }
}

interface Pending {
  id: string
  tenantId: string
}

async function listPending(db: Db, after: string): Promise<Pending[]> {
  const { rows } = await sql<Pending>`
    select account.id, tenant_id as "tenantId" from oauth_grant join account on account.id = account_id
    where spread_after is not null and account_id > ${after}
    order by account_id limit ${BATCH_GRANTS}
  `.execute(db)
  return rows
}

/** Returns whether there is more to do. */
async function spreadPage(
  db: Db,
  { id, tenantId }: Pending,
  wake: (accountId: string) => void,
): Promise<boolean> {
  const { sharedIds, hasMore } = await inTransaction(db, tenantId, async unit => {
    const afterId = await findSpread(unit, id)
    if (afterId === null) return { sharedIds: [], hasMore: false }
    const page = await followPage(unit, id, afterId)
    // If it was refused once more until it was locked, the first page is due again.
    const isRecorded = await advanceSpread(unit, id, afterId, page.nextId)
    return { sharedIds: page.sharedIds, hasMore: !isRecorded || page.nextId !== null }
  })
  for (const accountId of sharedIds) wake(accountId)
  return hasMore
}

async function findSpread(unit: UnitOfWork, accountId: string): Promise<string | null> {
  const row = await unit.sql
    .selectFrom('oauth_grant')
    .select('spread_after')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row?.spread_after ?? null
}

async function advanceSpread(
  unit: UnitOfWork,
  accountId: string,
  from: string,
  to: string | null,
): Promise<boolean> {
  const { numUpdatedRows } = await unit.sql
    .updateTable('oauth_grant')
    .set({ spread_after: to })
    .where('account_id', '=', accountId)
    .where('spread_after', '=', from)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
