import { sql } from 'kysely'
import type { KeyedAccount } from '../../../accounts/secrets.ts'
import { findAccessToken } from '../../../accounts/grants/store.ts'
import { takeChannels } from '../../../accounts/grants/channels.ts'
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

function parse(stored: unknown): { leftId: string } {
  const { leftId } = stored as { leftId: unknown }
  if (typeof leftId !== 'string') throw new TypeError('leftId is missing')
  return { leftId }
}

const deleteSubscription: JobKind<{ leftId: string }> = { name: 'delete_subscription', parse }
const JOBS_AT_ONCE = 100
/** A kind of its own, since earlier releases would take a channel for a subscription of another provider. */
const stopChannel: JobKind<{ leftId: string }> = { name: 'stop_channel', parse }

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
  const taken = [
    ...subscriptionIds.map(id => ({ id, resourceId: null })),
    ...(await takeChannels(unit, account.id)),
  ]
  if (taken.length === 0) return
  const grant = await findAccessToken(unit, account.id)
  const token = grant && openToken(keys, account, grant, 'access_token')
  if (!grant || !token) return
  const left = taken.map(({ id: subscription_id, resourceId: resource_id }) => {
    const id = newId()
    return {
      id,
      tenant_id: unit.tenantId,
      cloud: account.cloud ?? 'global',
      subscription_id,
      resource_id,
      access_token: seal(keys.revocations, Buffer.from(token.reveal()), contextOf(unit.tenantId, id)),
      expires_at: grant.expires_at,
    }
  })
  await unit.sql.insertInto('left_subscription').values(left).execute()
  const isChannel = ({ resource_id }: { resource_id: string | null }) => resource_id !== null
  await enqueueAll(
    unit,
    deleteSubscription,
    left.filter(each => !isChannel(each)),
  )
  await enqueueAll(unit, stopChannel, left.filter(isChannel))
}

async function enqueueAll(
  unit: UnitOfWork,
  kind: typeof stopChannel,
  left: ReadonlyArray<{ id: string }>,
): Promise<void> {
  const payloads = left.map(({ id }) => ({ leftId: id }))
  // Each calendar of an account may have a channel.
  for (let from = 0; from < payloads.length; from += JOBS_AT_ONCE)
    await enqueue(unit, kind, payloads.slice(from, from + JOBS_AT_ONCE))
}

/** Delete subscriptions at the provider. A job that fails is repeated while the access token lasts. */
export function leftSubscriptionHandlers(
  db: Db,
  keys: EndingKeys,
  deleteAt: DeleteSubscription,
): JobHandler[] {
  return [deleteSubscription, stopChannel].map(kind => leftHandler(kind, db, keys, deleteAt))
}

function leftHandler(
  kind: JobKind<{ leftId: string }>,
  db: Db,
  keys: EndingKeys,
  deleteAt: DeleteSubscription,
): JobHandler {
  return jobHandler(kind, async ({ leftId }, { signal }) => {
    const left = await findLeft(db, leftId)
    if (!left) return
    const token = unseal(keys.revocations, left.accessToken, contextOf(left.tenantId, leftId))
    const { cloud, subscriptionId: id, resourceId } = left
    await deleteAt({ cloud, id, resourceId, accessToken: new Secret(token.toString()) }, signal)
    await db.deleteFrom('left_subscription').where('id', '=', leftId).execute()
  })
}

async function findLeft(db: Db, id: string) {
  const { rows } = await sql<{
    tenantId: string
    cloud: Cloud
    subscriptionId: string
    resourceId: string | null
    accessToken: Buffer
  }>`
    select tenant_id as "tenantId", cloud, subscription_id as "subscriptionId", resource_id as "resourceId",
      access_token as "accessToken"
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
