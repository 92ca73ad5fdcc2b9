import { sql } from 'kysely'
import { type Pushed, recordPushedToMany } from '../../../accounts/halves/notice.ts'
import type { Db } from '../../../database/pool.ts'
import type { StoredSubscription } from '../../../providers/graph/subscription.ts'
import type { Subscribed } from './client-state.ts'

export type SubscriptionEvent = NonNullable<StoredSubscription['event']>

/** Returns null if there is none, or if it was made under an earlier grant. */
export async function findSubscription(db: Db, accountId: string): Promise<StoredSubscription | null> {
  const { rows } = await sql<StoredSubscription>`
    select subscription_id as id, nonce, graph_subscription.expires_at as "expiresAt", renew_at as "renewAt", event
    from graph_subscription join oauth_grant using (account_id)
    where account_id = ${accountId} and begun_at >= created_at
  `.execute(db)
  return rows[0] ?? null
}

/** Keeps a subscription that was made or renewed, or forgets the one that ended. Of a deleted account nothing is kept. */
export async function recordSubscription(
  db: Db,
  accountId: string,
  subscription: StoredSubscription | null,
): Promise<void> {
  if (!subscription) {
    await sql`delete from graph_subscription where account_id = ${accountId}`.execute(db)
    return
  }
  const { id, nonce, expiresAt, renewAt, event } = subscription
  await sql`
    insert into graph_subscription (account_id, subscription_id, nonce, expires_at, renew_at, event)
    select id, ${id}, ${nonce}, ${expiresAt}, ${renewAt}, ${event} from account
    where id = ${accountId} and deleted_at is null for key share
    on conflict (account_id) do update set subscription_id = excluded.subscription_id, nonce = excluded.nonce,
      begun_at = excluded.begun_at, expires_at = excluded.expires_at, renew_at = excluded.renew_at, event = excluded.event
  `.execute(db)
}

/** The parameters of subscriptions, for `unnest`. */
const given = (subscribed: readonly Subscribed[]) =>
  sql`${subscribed.map(({ accountId }) => accountId)}::uuid[], ${subscribed.map(({ nonce }) => nonce)}::text[]`

/** Asks for a look at the accounts of subscriptions. A subscription that is not the last of its account is left out. */
export function recordNotified(db: Db, subscribed: readonly Subscribed[]): Promise<Pushed> {
  const isMeant = sql<boolean>`account.id in (
    select account_id from graph_subscription
    where (account_id, nonce) in (select * from unnest(${given(subscribed)})))`
  return recordPushedToMany(db, 'mail', isMeant)
}

/** Stores events in the lives of subscriptions. A removal outlasts other events. */
export async function recordEvents(
  db: Db,
  events: ReadonlyArray<Subscribed & { event: SubscriptionEvent }>,
): Promise<void> {
  // One subscription after the other is locked, in their order, so that two processes do not wait for each other.
  await sql`
    with known as (
      select account_id, given.event from graph_subscription
      join unnest(${given(events)}, ${events.map(({ event }) => event)}::text[]) as given (account_id, nonce, event)
        using (account_id, nonce)
      order by account_id for no key update of graph_subscription
    )
    update graph_subscription
    set event = case when graph_subscription.event = 'removed' then graph_subscription.event else known.event end
    from known where graph_subscription.account_id = known.account_id
  `.execute(db)
}
