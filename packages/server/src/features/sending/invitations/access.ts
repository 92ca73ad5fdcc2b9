import type { AccountView } from '../../../accounts/row.ts'
import type { Db } from '../../../database/pool.ts'
import { requireServer } from '../accepting/accept.ts'
import { requireMaySend } from '../accepting/limits.ts'

/**
 * Refuses a write that would queue `count` mails, before anything is written: the account has no server to send by, the
 * payment of its tenant is overdue, or its plan has fewer sends left today. Does nothing for 0.
 */
export async function requireMayInvite(db: Db, account: AccountView, count: number): Promise<void> {
  if (count === 0) return
  requireServer(account)
  await requireMaySend(db, account.tenant_id, count)
}
