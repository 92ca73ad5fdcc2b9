import { sql } from 'kysely'
import { executeUnawaited } from '../../database/unawaited.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { ALL_KINDS } from './kind.ts'
import { lockHalves } from './lock-in-order.ts'

/**
 * Lets the halves of a locked account follow a change of its status or its deletion. While an account is not to be
 * followed, its halves have no owner, so that no step commits after this transaction. Problems of the former status are
 * over.
 */
export async function recordStatusOfHalves(unit: UnitOfWork, accountId: string): Promise<void> {
  await lockHalves(unit, [accountId], ALL_KINDS)
  return executeUnawaited(
    unit.sql,
    sql`
    update account_half set problem = null, owner_epoch = account.owner_epoch,
      owner_instance = case when status = 'active' and deleted_at is null then account.owner_instance end
    from account where account_id = ${accountId} and account.id = ${accountId}
  `,
  )
}
