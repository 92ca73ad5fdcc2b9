import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

export async function findTenantSettings(db: Db, tenantId: string): Promise<TenantSettings> {
  const row = await db
    .selectFrom('tenant')
    .select('settings')
    .where('id', '=', tenantId)
    .executeTakeFirstOrThrow()
  // Only `createTenant` and `updateTenantSettings` write them.
  return row.settings as TenantSettings
}

/**
 * Reads the settings and locks them until the transaction ends. Lock them before any account: changes of accounts lock
 * in that order.
 */
export async function lockTenantSettings(unit: UnitOfWork): Promise<TenantSettings> {
  await unit.sql.selectFrom('tenant').select('id').where('id', '=', unit.tenantId).forNoKeyUpdate().execute()
  return findTenantSettings(unit.sql, unit.tenantId)
}

export async function updateTenantSettings(unit: UnitOfWork, settings: TenantSettings): Promise<void> {
  await unit.sql
    .updateTable('tenant')
    .set({ settings: JSON.stringify(settings) })
    .where('id', '=', unit.tenantId)
    .execute()
}

/** Lists each tenant with the days for which it keeps its events. */
export async function listTenantRetention(
  db: Db,
): Promise<Array<{ tenantId: string; eventRetentionDays: number }>> {
  const rows = await db.selectFrom('tenant').select(['id', 'settings']).orderBy('id').execute()
  return rows.map(({ id, settings }) => ({
    tenantId: id,
    eventRetentionDays: (settings as TenantSettings).eventRetentionDays,
  }))
}
