import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { type UnitOfWork, inTransaction } from '../../../events/unit-of-work.ts'
import { holdTenantPlan } from '../../tenancy/plans/store.ts'
import { lockTenantSettings, updateTenantSettings } from '../../tenancy/settings/store.ts'
import { presentAccount, changedFields } from '../../../accounts/present.ts'
import { accountViews } from '../../../accounts/store.ts'
import { recordStorageForbidden } from '../../../accounts/record-storage-forbidden.ts'
import { inheritSettings } from '../settings/inherit.ts'

/** Accounts that one transaction changes. */
export const PAGE_ACCOUNTS = 500

/** Makes `bodyStorage` of a tenant `none`, but not where its accounts override it. The tenant must be locked. */
export async function forbidTenantStorage(unit: UnitOfWork, before: TenantSettings): Promise<void> {
  if (before.bodyStorage === 'none') return
  const after: TenantSettings = { ...before, bodyStorage: 'none' }
  await updateTenantSettings(unit, after)
  await inheritSettings(unit, before, after)
}

/**
 * Makes `bodyStorage` of the accounts that override it `none`, page by page, while the tenant has this plan and the plan
 * forbids storing. If it is interrupted, it can be called again: only the accounts that are left are changed and
 * announced.
 */
export async function forbidAccountStorage(db: Db, tenantId: string, planId: string): Promise<void> {
  while (await inTransaction(db, tenantId, unit => forbidPage(unit, planId)));
}

/** @returns whether there may be another page */
async function forbidPage(unit: UnitOfWork, planId: string): Promise<boolean> {
  await lockTenantSettings(unit)
  const plan = await holdTenantPlan(unit)
  if (plan?.id !== planId || plan.limits.bodyStorageAllowed) return false
  const page = await accountViews(unit.sql, unit.tenantId)
    .where(sql<boolean>`account.settings_override->>'bodyStorage' <> 'none'`)
    .orderBy('account.id')
    .limit(PAGE_ACCOUNTS)
    .forNoKeyUpdate('account')
    .execute()
  if (page.length === 0) return false
  const ids = page.map(({ id }) => id)
  await recordStorageForbidden(unit, ids)
  const before = new Map(page.map(view => [view.id, presentAccount(view)]))
  const changed = await accountViews(unit.sql, unit.tenantId)
    .where('account.id', 'in', ids)
    .orderBy('account.id')
    .execute()
  for (const view of changed) {
    const account = presentAccount(view)
    const changes = changedFields(before.get(view.id)!, account)
    unit.announce({ type: 'account.updated', accountId: view.id, data: { account, changes } })
  }
  return page.length === PAGE_ACCOUNTS
}
