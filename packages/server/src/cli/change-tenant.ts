import type { AuditAction, TargetName } from '@waxwing/contract/operation.ts'
import type { Transaction } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Tables } from '../database/tables.ts'
import { recordOperatorAction } from '../features/tenancy/audit-log/record-rows.ts'

/** Changes a tenant for the operator, in one transaction with the row of its audit log. */
export async function changeTenant(
  db: Db,
  {
    tenantId,
    action,
    targets,
  }: { tenantId: string; action: AuditAction; targets?: Record<TargetName, string> },
  change: (tx: Transaction<Tables>) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async tx => {
    await change(tx)
    await recordOperatorAction(tx, { tenantId, action, targets: { tenantId, ...targets } })
  })
}
