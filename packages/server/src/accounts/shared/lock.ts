import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { FIRST_ID } from '../../kit/ids.ts'

/** Shared mailboxes that follow their delegate in one transaction. */
export const PAGE_ACCOUNTS = 200

/** A delegate and a page of its shared mailboxes, locked until the transaction ends. */
export interface LockedPage {
  delegateId: string
  /** Ids of the shared mailboxes, in their order. */
  sharedIds: string[]
  /** The last of them if there may be more; else null. */
  nextId: string | null
}

/**
 * Locks the settings of the tenant, then an account and the next shared mailboxes that its grant opens. Accounts are
 * locked in the order of their ids, as by everything else that locks several.
 * @param also another account to lock with them
 */
export async function lockPage(
  unit: UnitOfWork,
  delegateId: string,
  { afterId = FIRST_ID, also }: { afterId?: string; also?: string } = {},
): Promise<LockedPage> {
  await holdSettings(unit)
  const { rows: page } = await sql<{ id: string }>`
    select id from account
    where delegate_account_id = ${delegateId} and deleted_at is null and id > ${afterId}
    order by id limit ${PAGE_ACCOUNTS}
  `.execute(unit.sql)
  const pageIds = page.map(({ id }) => id)
  await lockInOrder(unit, [delegateId, ...pageIds, ...(also === undefined ? [] : [also])])
  // Others may have been deleted, or pointed elsewhere, until they were locked.
  const { rows } = await sql<{ id: string }>`
    select id from account
    where id = any(${pageIds}::uuid[]) and delegate_account_id = ${delegateId} and deleted_at is null
    order by id
  `.execute(unit.sql)
  return {
    delegateId,
    sharedIds: rows.map(({ id }) => id),
    nextId: pageIds.length < PAGE_ACCOUNTS ? null : (pageIds.at(-1) ?? null),
  }
}

/** Locks the settings of the tenant, then accounts in the order of their ids. */
export async function lockTogether(unit: UnitOfWork, accountIds: readonly string[]): Promise<void> {
  await holdSettings(unit)
  await lockInOrder(unit, accountIds)
}

async function holdSettings(unit: UnitOfWork): Promise<void> {
  await sql`select from tenant where id = ${unit.tenantId} for share`.execute(unit.sql)
}

async function lockInOrder(unit: UnitOfWork, accountIds: readonly string[]): Promise<void> {
  await sql`
    select from account where tenant_id = ${unit.tenantId} and id = any(${[...accountIds]}::uuid[])
    order by id for no key update
  `.execute(unit.sql)
}

/** Whether shared mailboxes are opened with the grant of an account. */
export async function hasShared(db: Kysely<Tables>, accountId: string): Promise<boolean> {
  const { rows } = await sql`
    select from account where delegate_account_id = ${accountId} and deleted_at is null limit 1
  `.execute(db)
  return rows.length > 0
}
