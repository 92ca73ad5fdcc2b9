import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { everyAccountView, lockAccount, updateAccount } from '../../../accounts/store.ts'
import { leaveSubscriptions } from '../grants/left-subscriptions.ts'
import type { EndingKeys } from '../grants/revocation.ts'

/** Operations on accounts of any tenant, for the operator of an installation. */

const STOPPED = { status: 'disabled', status_reason: 'operator' } as const

export interface ListedAccount extends AccountView {
  tenant_name: string
}

export interface AccountSelection {
  /** Null selects every tenant. */
  tenantId: string | null
  /** Selects only active accounts that are not caught up, have no owner, or fail; the longest first. */
  isBehind: boolean
  /** Starts after this account. Ignored if accounts are ordered by how long they have been behind. */
  afterId: string | null
  limit: number
}

/** Since when any half of an account has been behind. */
const behindSince = sql`(
  select min(behind_since) from account_half as behind where behind.account_id = account.id)`

/** Lists accounts that are not deleted, oldest first. */
export async function listAccountsOfAll(db: Db, selection: AccountSelection): Promise<ListedAccount[]> {
  const { tenantId, isBehind, afterId, limit } = selection
  let views = everyAccountView(db).select('tenant.name as tenant_name')
  if (tenantId !== null) views = views.where('account.tenant_id', '=', tenantId)
  if (isBehind) {
    views = views
      .where('account.status', '=', 'active')
      .where(sql<boolean>`(${behindSince} is not null or account.owner_instance is null
        or instance.heartbeat_until < clock_timestamp())`)
      .orderBy(sql`coalesce(${behindSince}, account.updated_at)`)
  } else if (afterId !== null) views = views.where('account.id', '>', afterId)
  return views.orderBy('account.id').limit(limit).$castTo<ListedAccount>().execute()
}

/** The tenant of an account, including deleted ones, or null if there is no account of this id. */
export async function findTenantOf(db: Db, accountId: string): Promise<string | null> {
  const row = await db
    .selectFrom('account')
    .select('tenant_id')
    .where('id', '=', accountId)
    .executeTakeFirst()
  return row?.tenant_id ?? null
}

/** The account after the call, and whether it was changed: an account stopped for another reason stays as it is. */
export interface Decision {
  account: AccountView
  isDone: boolean
}

/**
 * Stops an account of the unit's tenant: `disabled` by the `operator`. Its subscription is deleted at the provider. Returns
 * null if there is no such account.
 */
export async function stopAccount(unit: UnitOfWork, id: string, keys: EndingKeys): Promise<Decision | null> {
  const before = await lockAccount(unit, id)
  if (!before) return null
  const isStopped = before.status === STOPPED.status && before.status_reason === STOPPED.status_reason
  if (isStopped) return { account: before, isDone: true }
  if (before.status !== 'active' && before.status !== 'paused') return { account: before, isDone: false }
  await leaveSubscriptions(unit, keys, before)
  return { account: await updateAccount(unit, before, STOPPED), isDone: true }
}

/** Makes an account active again if `stopAccount` stopped it. Returns null if there is none. */
export async function resumeAccount(unit: UnitOfWork, id: string): Promise<Decision | null> {
  const before = await lockAccount(unit, id)
  if (!before) return null
  if (before.status === 'active') return { account: before, isDone: true }
  if (before.status !== STOPPED.status || before.status_reason !== STOPPED.status_reason)
    return { account: before, isDone: false }
  return {
    account: await updateAccount(unit, before, { status: 'active', status_reason: null }),
    isDone: true,
  }
}
