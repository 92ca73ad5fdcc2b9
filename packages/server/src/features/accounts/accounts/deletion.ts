import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { deleteTokensOf } from '../../tenancy/credentials/store.ts'
import { recordAccountDeleted } from '../../../accounts/record-deleted.ts'
import { hasShared } from '../../../accounts/shared/lock.ts'
import { leaveSubscriptions } from '../grants/left-subscriptions.ts'
import { type EndingKeys, endGrant } from '../grants/revocation.ts'
import { enqueueFollowing } from '../shared-mailboxes/follow-delegate-job.ts'

/** Days for which the indexed data of a deleted account is kept. */
const RETENTION_DAYS = 30

/**
 * Deletes the account: it leaves every list, its secrets and tokens are gone with the commit, and its purge is
 * scheduled. Its subscription is deleted at the provider, and its grant is revoked there if no other account uses it. Shared
 * mailboxes that it opens stop right afterwards. Deleting again changes nothing, except that `purge` makes the purge due at
 * once. Returns false if there never was such an account.
 */
export async function deleteAccount(
  unit: UnitOfWork,
  keys: EndingKeys,
  id: string,
  options: { purge: boolean },
): Promise<boolean> {
  const account = await unit.sql
    .selectFrom('account')
    .select(['id', 'tenant_id', 'data_key', 'subject', 'email', 'cloud', 'external_ref', 'deleted_at'])
    .where('tenant_id', '=', unit.tenantId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (!account) return false

  await recordAccountDeleted(unit, account, { purgeInDays: options.purge ? 0 : RETENTION_DAYS })
  if (account.deleted_at) return true
  await leaveSubscriptions(unit, keys, account)
  await endGrant(unit, keys, account)
  await deleteTokensOf(unit.sql, id)
  if (await hasShared(unit.sql, id)) await enqueueFollowing(unit, id)
  unit.announce({
    type: 'account.deleted',
    accountId: id,
    data: { email: account.email, externalRef: account.external_ref },
  })
  return true
}
