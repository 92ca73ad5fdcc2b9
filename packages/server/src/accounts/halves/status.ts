import { sql } from 'kysely'
import { executeUnawaited } from '../../database/unawaited.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'

/**
 * Lets the halves of a locked account follow a change of its status or its deletion. While an account is not to be
 * followed, its halves have no owner, so that no step commits after this transaction. Problems of the former status are
 * over.
 */
export function recordStatusOfHalves(unit: UnitOfWork, accountId: string): Promise<void> {
  return executeUnawaited(
    unit.sql,
    sql`
    with held as (
      select account_id, kind from account_half where account_id = ${accountId} order by kind desc for no key update
    )
    update account_half set problem = null, owner_epoch = account.owner_epoch,
      owner_instance = case when status = 'active' and deleted_at is null then account.owner_instance end
    from held, account
    where account_half.account_id = held.account_id and account_half.kind = held.kind and account.id = ${accountId}
  `,
  )
}
