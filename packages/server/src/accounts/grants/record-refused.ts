import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../events/unit-of-work.ts'
import { recordReauthRequired } from '../record-reauth.ts'
import { recordFollowing } from '../shared/follow-delegate.ts'
import { lockPage } from '../shared/lock.ts'
import { findAccount, findAccountView } from '../store.ts'
import { recordSpread } from './spread.ts'
import type { StoredGrant } from './store.ts'

/**
 * Records that the provider has ended a grant for certain: the account that holds it needs a new one, and the shared
 * mailboxes that it opens wait for that. The first of them follow in this commit, and `spreadGrants` reaches the others.
 * A grant that was renewed or replaced since it was read is left alone: then it returns false.
 * @param account the account whose token was asked for: the holder, or a shared mailbox
 */
export async function recordRefused(
  db: Db,
  account: { id: string; tenantId: string },
  grant: Pick<StoredGrant, 'id' | 'version' | 'account'>,
): Promise<boolean> {
  const holderId = grant.account.id
  return inTransaction(db, account.tenantId, async unit => {
    const page = await lockPage(unit, holderId, { also: account.id })
    const holder = await findAccountView(unit.sql, unit.tenantId, holderId)
    if (!holder) return true
    const refusal = await storeRefusal(unit, grant)
    if (refusal === null) return false
    await recordReauthRequired(unit, holder, 'invalid_grant')
    if (refusal === 'first') {
      await recordFollowing(unit, holderId, page.sharedIds)
      await recordSpread(unit, holderId, page.nextId)
    }
    if (account.id !== holderId) await followAlone(unit, holderId, account.id)
    return true
  })
}

/** Whether the grant of a delegate is gone, or was renewed meanwhile, or the account is no shared mailbox. */
export type DelegateLoss = 'lost' | 'renewed' | 'not_shared'

/** Stops a shared mailbox whose delegate has no grant any more. It may have been paused when others were stopped. */
export async function recordDelegateLost(
  db: Db,
  account: { id: string; tenantId: string },
): Promise<DelegateLoss> {
  const known = await findAccount(db, account.tenantId, account.id)
  const delegateId = known?.delegate_account_id ?? null
  if (delegateId === null) return 'not_shared'
  const isLost = await inTransaction(db, account.tenantId, async unit => {
    await lockPage(unit, delegateId, { also: account.id })
    return followAlone(unit, delegateId, account.id)
  })
  return isLost ? 'lost' : 'renewed'
}

/** Lets one locked shared mailbox follow its delegate. Returns false if it can be opened, or was pointed elsewhere. */
async function followAlone(unit: UnitOfWork, delegateId: string, accountId: string): Promise<boolean> {
  const account = await findAccount(unit.sql, unit.tenantId, accountId)
  if (account?.delegate_account_id !== delegateId) return false
  return (await recordFollowing(unit, delegateId, [accountId])) !== null
}

/** Returns null if the grant has changed. */
async function storeRefusal(
  unit: UnitOfWork,
  grant: Pick<StoredGrant, 'id' | 'version'>,
): Promise<'first' | 'repeated' | null> {
  const { rows } = await sql<{ wasRefused: boolean }>`
    with known as (
      select account_id, refused_at from oauth_grant
      where id = ${grant.id} and version = ${grant.version} for no key update
    )
    update oauth_grant set refused_at = coalesce(known.refused_at, clock_timestamp()),
      refreshing_by = null, refreshing_until = null
    from known where oauth_grant.account_id = known.account_id
    returning known.refused_at is not null as "wasRefused"
  `.execute(unit.sql)
  const [row] = rows
  if (!row) return null
  return row.wasRefused ? 'repeated' : 'first'
}
