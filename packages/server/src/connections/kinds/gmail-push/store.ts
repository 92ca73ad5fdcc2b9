import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { GrantedWatch } from '../../../providers/granted-watch.ts'
import { recordPushed } from '../../../accounts/halves/notice.ts'

/** How the mailboxes of an OAuth app are watched, and whose pushes are believed. */
export interface PushTerms {
  topic: string
  subscription: string
  serviceAccount: string
}

/** The topic of an account's app, and the watch of its mailbox. Either may be null. */
export interface Watching {
  topic: string | null
  watch: GrantedWatch | null
}

/** @param operators of the operator's app, which accounts use that have none of their tenant's */
export async function findWatching(
  db: Db,
  accountId: string,
  operators: PushTerms | null,
): Promise<Watching | null> {
  const { rows } = await sql<{ topic: string | null; watched: string | null } & Omit<GrantedWatch, 'topic'>>`
    select case when oauth_app_id is null then ${operators?.topic ?? null} else push_topic end as topic,
      gmail_watch.topic as watched, gmail_watch.expires_at as "expiresAt", renew_at as "renewAt"
    from account
    left join oauth_app on oauth_app.id = oauth_app_id
    left join oauth_grant on oauth_grant.account_id = account.id
    left join gmail_watch on gmail_watch.account_id = account.id
      and begun_at >= coalesce(oauth_grant.created_at, begun_at)
    where account.id = ${accountId} and deleted_at is null
  `.execute(db)
  const [row] = rows
  if (!row) return null
  const { topic, watched, expiresAt, renewAt } = row
  return { topic, watch: watched === null ? null : { topic: watched, expiresAt, renewAt } }
}

/** A notice that a signature has proven. */
export interface ProvenNotice {
  subscription: string
  /** The service account that signed it. */
  serviceAccount: string
  /** The address of the mailbox that changed. */
  email: string
}

/** Whether an app of this subscription believes this signer, only others, or there is no such app. */
export async function judgeSigner(
  db: Db,
  { subscription, serviceAccount }: Omit<ProvenNotice, 'email'>,
  operators: PushTerms | null,
): Promise<'believed' | 'another_signer' | 'unknown'> {
  const isOperators = operators?.subscription === subscription
  if (isOperators && operators.serviceAccount === serviceAccount) return 'believed'
  const { rows } = await sql<{ isBelieved: boolean | null }>`
    select bool_or(push_service_account = ${serviceAccount}) as "isBelieved" from oauth_app
    where push_subscription = ${subscription}
  `.execute(db)
  const isBelieved = rows[0]?.isBelieved ?? null
  if (isBelieved) return 'believed'
  return isOperators || isBelieved === false ? 'another_signer' : 'unknown'
}

/**
 * Asks for a look at the accounts of the address that use an app of the notice. Returns the ids of those for which none
 * was asked for yet.
 */
export async function recordNotice(
  db: Db,
  { subscription, serviceAccount, email }: ProvenNotice,
  operators: PushTerms | null,
): Promise<string[]> {
  const isOperators = operators?.subscription === subscription && operators.serviceAccount === serviceAccount
  const isMeant = sql<boolean>`(
    provider = 'gmail' and auth_method = 'oauth' and lower(email) = lower(${email})
    and case when oauth_app_id is null then ${isOperators} else oauth_app_id in (
      select id from oauth_app
      where push_subscription = ${subscription} and push_service_account = ${serviceAccount}) end)`
  return recordPushed(db, 'mail', isMeant)
}
