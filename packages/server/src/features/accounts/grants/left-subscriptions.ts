import { sql } from 'kysely'
import type { KeyedAccount } from '../../../accounts/secrets.ts'
import { findAccessToken } from '../../../accounts/grants/store.ts'
import { takeSubscriptions } from '../../../accounts/grants/subscriptions.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { type JobKind, enqueue } from '../../../jobs/enqueue.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { newId } from '../../../kit/ids.ts'
import { seal, unseal } from '../../../kit/seal.ts'
import { Secret } from '../../../kit/secret.ts'
import type { DeleteSubscription } from '../../../providers/kept-subscription.ts'
import type { Cloud } from '../../../providers/sign-in.ts'
import { type EndingKeys, openToken } from './revocation.ts'

const deleteSubscription: JobKind<{ leftId: string }> = {
  name: 'delete_subscription',
  parse(stored) {
    const { leftId } = stored as { leftId: unknown }
    if (typeof leftId !== 'string') throw new TypeError('leftId is missing')
    return { leftId }
  },
}

/**
 * Forgets the subscriptions of an account that is being paused or deleted, and enqueues their deletion at the provider. The
 * copies of the access token that this needs are sealed, and kept until the token expires at the latest. Without a token
 * that works, the subscriptions end by themselves. Called while the grant is still there.
 */
export async function leaveSubscriptions(
  unit: UnitOfWork,
  keys: EndingKeys,
  account: KeyedAccount & { cloud: string | null },
): Promise<void> {
  const subscriptionIds = await takeSubscriptions(unit, account.id)
  if (subscriptionIds.length === 0) return
  const grant = await findAccessToken(unit, account.id)
  const token = grant && openToken(keys, account, grant, 'access_token')
  if (!grant || !token) return
  const left = subscriptionIds.map(subscription_id => {
    const id = newId()
    return {
      id,
      tenant_id: unit.tenantId,
      cloud: account.cloud ?? 'global',
      subscription_id,
      access_token: seal(keys.revocations, Buffer.from(token.reveal()), contextOf(unit.tenantId, id)),
      expires_at: grant.expires_at,
    }
  })
  await unit.sql.insertInto('left_subscription').values(left).execute()
  await enqueue(
    unit,
    deleteSubscription,
    left.map(({ id }) => ({ leftId: id })),
  )
}

/** Deletes subscriptions at the provider. A job that fails is repeated while the access token lasts. */
export function leftSubscriptionHandler(db: Db, keys: EndingKeys, deleteAt: DeleteSubscription): JobHandler {
  return jobHandler(deleteSubscription, async ({ leftId }, { signal }) => {
    const left = await findLeft(db, leftId)
    if (!left) return
    const token = unseal(keys.revocations, left.accessToken, contextOf(left.tenantId, leftId))
    const { cloud, subscriptionId } = left
    await deleteAt({ cloud, id: subscriptionId, accessToken: new Secret(token.toString()) }, signal)
    await db.deleteFrom('left_subscription').where('id', '=', leftId).execute()
  })
}

async function findLeft(db: Db, id: string) {
  const { rows } = await sql<{
    tenantId: string
    cloud: Cloud
    subscriptionId: string
    accessToken: Buffer
  }>`
    select tenant_id as "tenantId", cloud, subscription_id as "subscriptionId", access_token as "accessToken"
    from left_subscription where id = ${id} and expires_at > clock_timestamp()
  `.execute(db)
  return rows[0] ?? null
}

/** Forgets subscriptions whose access tokens have expired. */
export async function forgetLeftSubscriptions(db: Db): Promise<void> {
  await sql`delete from left_subscription where expires_at < clock_timestamp()`.execute(db)
}

function contextOf(tenantId: string, id: string): string[] {
  return [tenantId, 'left_subscription', 'access_token', id]
}
