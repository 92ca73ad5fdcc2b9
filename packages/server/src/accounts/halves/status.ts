import { sql } from 'kysely'
import { executeUnawaited } from '../../database/unawaited.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { ALL_KINDS } from './kind.ts'
import { lockHalves } from './lock-in-order.ts'

/**
 * Lets the halves of locked accounts follow a change of their status or their deletion. While an account is not to be
 * followed, its halves have no owner, so that no step commits after this transaction. Problems of the former status are
 * over.
 */
export async function recordStatusOfHalves(unit: UnitOfWork, accountIds: readonly string[]): Promise<void> {
  await lockHalves(unit, accountIds, ALL_KINDS)
  return executeUnawaited(
    unit.sql,
    sql`
    update account_half set problem = null, owner_epoch = account.owner_epoch,
      owner_instance = case when status = 'active' and deleted_at is null then account.owner_instance end
    from account where account_id = any(${[...accountIds]}::uuid[]) and account.id = account_id
  `,
  )
}
