import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { providersThatPush } from '../../providers/abilities.ts'
import type { KeptSubscription, StoredSubscription } from '../../providers/kept-subscription.ts'
import { type Pushed, recordPushedToMany } from '../halves/notice.ts'

export type SubscriptionEvent = NonNullable<StoredSubscription['event']>

/** The kinds of data that can be subscribed to. */
export const SUBSCRIBED_KINDS = ['mail', 'calendar', 'contacts'] as const
export type SubscribedKind = (typeof SUBSCRIBED_KINDS)[number]

/** The half that a notification is for, and its subscription. */
export interface Subscribed {
  accountId: string
  kind: SubscribedKind
  nonce: string
}

/** Returns null if there is none, or if it was made under an earlier grant. */
export async function findSubscription(
  db: Db,
  kind: SubscribedKind,
  accountId: string,
): Promise<StoredSubscription | null> {
  const { rows } = await sql<StoredSubscription>`
    select subscription_id as id, nonce, kept.expires_at as "expiresAt", renew_at as "renewAt", event
    from half_subscription as kept join oauth_grant using (account_id)
    where account_id = ${accountId} and kind = ${kind} and begun_at >= created_at
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
  kind: SubscribedKind,
  accountId: string,
  subscription: KeptSubscription,
  takenEvent: SubscriptionEvent | null,
): Promise<boolean> {
  const { id, nonce, expiresAt, renewAt } = subscription
  // The lock waits for a pause that is under way, which takes the subscription along.
  const { numAffectedRows = 0n } = await sql`
    insert into half_subscription as kept (account_id, kind, subscription_id, nonce, expires_at, renew_at)
    select id, ${kind}, ${id}, ${nonce}, ${expiresAt}, ${renewAt} from account
    where id = ${accountId} and deleted_at is null and status = 'active' for share
    on conflict (account_id, kind) do update set subscription_id = excluded.subscription_id, nonce = excluded.nonce,
      begun_at = excluded.begun_at, expires_at = excluded.expires_at, renew_at = excluded.renew_at,
      event = case when kept.nonce = excluded.nonce then nullif(kept.event, ${takenEvent}) end
  `.execute(db)
  return numAffectedRows > 0n
}

/** Forgets a subscription that has ended, unless there is another one by now. */
export async function forgetSubscription(db: Db, { accountId, kind, nonce }: Subscribed): Promise<void> {
  await sql`
    delete from half_subscription where account_id = ${accountId} and kind = ${kind} and nonce = ${nonce}
  `.execute(db)
}

/** Forgets the subscriptions of a locked account, and returns their ids. */
export async function takeSubscriptions(unit: UnitOfWork, accountId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    delete from half_subscription where account_id = ${accountId} returning subscription_id as id
  `.execute(unit.sql)
  return rows.map(({ id }) => id)
}

/** The parameters of subscriptions, for `unnest`. */
const given = (subscribed: readonly Subscribed[]) =>
  sql`${subscribed.map(({ accountId }) => accountId)}::uuid[], ${subscribed.map(({ nonce }) => nonce)}::text[]`

/**
 * Asks for a look at the halves of subscriptions of one kind. A subscription that is not the last of its half is left out.
 */
export function recordNotified(
  db: Db,
  kind: SubscribedKind,
  subscribed: readonly Subscribed[],
): Promise<Pushed> {
  const isMeant = sql<boolean>`account.id in (
    select account_id from half_subscription
    where kind = ${kind} and (account_id, nonce) in (select * from unnest(${given(subscribed)})))`
  return recordPushedToMany(db, kind, isMeant)
}

/** Stores events in the lives of subscriptions of one kind. A removal outlasts other events. */
export async function recordEvents(
  db: Db,
  kind: SubscribedKind,
  events: ReadonlyArray<Subscribed & { event: SubscriptionEvent }>,
): Promise<void> {
  // One subscription after the other is locked, in their order, so that two processes do not wait for each other.
  await sql`
    with known as (
      select account_id, given.event from half_subscription as kept
      join unnest(${given(events)}, ${events.map(({ event }) => event)}::text[]) as given (account_id, nonce, event)
        using (account_id, nonce)
      where kind = ${kind} order by account_id for no key update of kept
    )
    update half_subscription as kept
    set event = case when kept.event = 'removed' then kept.event else known.event end
    from known where kept.account_id = known.account_id and kept.kind = ${kind}
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
        when half_subscription.expires_at <= clock_timestamp() then 'expired'
        when renew_at <= clock_timestamp() or event is not null then 'due'
        else 'current'
      end as state, count(*)::int as count
    from account join oauth_grant on oauth_grant.account_id = account.id
    left join half_subscription on half_subscription.account_id = account.id and kind = 'mail'
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
