import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { providersThatPush } from '../../providers/abilities.ts'
import type { KeptSubscription, StoredSubscription } from '../../providers/kept-subscription.ts'
import { type Pushed, recordPushedToMany } from '../halves/notice.ts'

export type SubscriptionEvent = NonNullable<StoredSubscription['event']>

/** The account that a notification is for, and the subscription of it. */
export interface Subscribed {
  accountId: string
  nonce: string
}

/** Returns null if there is none, or if it was made under an earlier grant. */
export async function findSubscription(db: Db, accountId: string): Promise<StoredSubscription | null> {
  const { rows } = await sql<StoredSubscription>`
    select subscription_id as id, nonce, graph_subscription.expires_at as "expiresAt", renew_at as "renewAt", event
    from graph_subscription join oauth_grant using (account_id)
    where account_id = ${accountId} and begun_at >= created_at
  `.execute(db)
  return rows[0] ?? null
}

/**
 * Keeps a subscription that was made or renewed. Returns false if the account was paused or deleted meanwhile: nothing is
 * kept then.
 * @param takenEvent the event of the renewed subscription that was read and acted upon. Another one, which came since then,
 * stays; events of a former subscription go with it
 */
export async function recordSubscription(
  db: Db,
  accountId: string,
  subscription: KeptSubscription,
  takenEvent: SubscriptionEvent | null,
): Promise<boolean> {
  const { id, nonce, expiresAt, renewAt } = subscription
  // The lock waits for a pause that is under way, which takes the subscription along.
  const { numAffectedRows = 0n } = await sql`
    insert into graph_subscription (account_id, subscription_id, nonce, expires_at, renew_at)
    select id, ${id}, ${nonce}, ${expiresAt}, ${renewAt} from account
    where id = ${accountId} and deleted_at is null and status = 'active' for share
    on conflict (account_id) do update set subscription_id = excluded.subscription_id, nonce = excluded.nonce,
      begun_at = excluded.begun_at, expires_at = excluded.expires_at, renew_at = excluded.renew_at,
      event = case when graph_subscription.nonce = excluded.nonce
        then nullif(graph_subscription.event, ${takenEvent}) end
  `.execute(db)
  return numAffectedRows > 0n
}

/** Forgets a subscription that has ended, unless there is another one by now. */
export async function forgetSubscription(db: Db, { accountId, nonce }: Subscribed): Promise<void> {
  await sql`delete from graph_subscription where account_id = ${accountId} and nonce = ${nonce}`.execute(db)
}

/** Forgets the subscription of a locked account, and returns its id. Null if there was none. */
export async function takeSubscription(unit: UnitOfWork, accountId: string): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    delete from graph_subscription where account_id = ${accountId} returning subscription_id as id
  `.execute(unit.sql)
  return rows[0]?.id ?? null
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

/**
 * Counts the active accounts whose mailboxes can be subscribed to, by the state of their subscriptions. `due` is
 * one that should have been renewed by now, `none` an account that is only polled.
 */
export async function countSubscriptions(
  db: Db,
): Promise<Record<'current' | 'due' | 'expired' | 'none', number>> {
  const { rows } = await sql<{ state: 'current' | 'due' | 'expired' | 'none'; count: number }>`
    select case
        when begun_at is null or begun_at < oauth_grant.created_at then 'none'
        when graph_subscription.expires_at <= clock_timestamp() then 'expired'
        when renew_at <= clock_timestamp() or event is not null then 'due'
        else 'current'
      end as state, count(*)::int as count
    from account join oauth_grant on oauth_grant.account_id = account.id
    left join graph_subscription on graph_subscription.account_id = account.id
    where oauth_grant.provider = any(${providersThatPush()}::text[]) and status = 'active' and deleted_at is null
    group by 1
  `.execute(db)
  return {
    current: 0,
    due: 0,
    expired: 0,
    none: 0,
    ...Object.fromEntries(rows.map(({ state, count }) => [state, count])),
  }
}
