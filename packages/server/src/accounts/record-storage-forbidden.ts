import { sql } from 'kysely'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import { recordReachChanged } from './halves/reach.ts'

/** Records that locked accounts of the tenant may store no bodies: their own setting becomes `none`. */
export async function recordStorageForbidden(unit: UnitOfWork, accountIds: readonly string[]): Promise<void> {
  await unit.sql
    .updateTable('account')
    .set({
      settings_override: sql<string>`settings_override || '{"bodyStorage": "none"}'`,
      updated_at: sql`clock_timestamp()`,
    })
    .where('tenant_id', '=', unit.tenantId)
    .where('id', 'in', accountIds)
    .execute()
  await recordReachChanged(unit, accountIds, ['mail'])
}
