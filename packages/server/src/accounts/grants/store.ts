import { type Kysely, type Transaction, sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { executeUnawaited } from '../../database/unawaited.ts'
import type { Tables } from '../../database/tables.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { newId } from '../../kit/ids.ts'
import type { FailureKind, FailureReason } from '../../providers/failure.ts'
import type { Grant, OAuthProvider, Tokens } from '../../providers/sign-in.ts'
import type { AccountRow } from '../row.ts'
import type { AccountKeys, KeyedAccount, TokenSealing } from '../secrets.ts'
import type { OAuthClient } from '../apps/clients.ts'
import { planLife } from './rules.ts'

/** Longer than a call to a provider may take. */
export const LEASE_SECONDS = 30
/** A refresh token that was replaced is kept for this time, in case its successor was lost on the way. */
export const PREVIOUS_HOURS = 24

/** The state of a grant that a refresh is decided by. Seconds are from now on, and negative for what is over. */
export interface StoredGrant {
  id: string
  /** Counts the refreshes. */
  version: string
  provider: OAuthProvider
  client_id: string
  /** The granted scopes. */
  scopes: string[]
  access_token: Buffer
  refresh_token: Buffer
  /** Null as well if it is no longer to be used. */
  previous_refresh_token: Buffer | null
  /** Since the access token was issued. */
  age_seconds: number
  good_seconds: number
  fresh_seconds: number
  /** Null if nothing failed. */
  pause_seconds: number | null
  failures: number
  failure: FailureKind | null
  failure_reason: FailureReason | null
  is_refused: boolean
  /** The account that holds it: a shared mailbox is opened with the grant of its delegate. */
  account: KeyedAccount & Pick<AccountRow, 'oauth_app_id' | 'cloud'>
}

const secondsUntil = (column: string) =>
  sql`extract(epoch from ${sql.ref(column)} - clock_timestamp())::float8`

/** The account that holds the grant which opens an account: its delegate, or the account itself. */
export const ofHolder = sql`holder.id = coalesce(account.delegate_account_id, account.id) and holder.deleted_at is null`

/**
 * Finds the grant that opens an account, with the account that holds it. Returns null if either account is gone, or
 * neither signs in by OAuth.
 */
export async function findGrant(
  db: Kysely<Tables>,
  account: { id: string; tenantId: string },
): Promise<StoredGrant | null> {
  const { rows } = await sql<
    Omit<StoredGrant, 'account'> & Omit<StoredGrant['account'], 'id'> & { holder_id: string }
  >`
    select oauth_grant.id, version, oauth_grant.provider, client_id, scopes, access_token, refresh_token,
      case when previous_until > clock_timestamp() then previous_refresh_token end as previous_refresh_token,
      -${secondsUntil('issued_at')} as age_seconds, ${secondsUntil('expires_at')} as good_seconds, ${secondsUntil('refresh_at')} as fresh_seconds,
      ${secondsUntil('retry_at')} as pause_seconds, failures, failure, failure_reason,
      refused_at is not null as is_refused,
      holder.id as holder_id, holder.tenant_id, holder.data_key, holder.oauth_app_id, holder.cloud
    from account join account as holder on ${ofHolder}
    join oauth_grant on oauth_grant.account_id = holder.id
    where account.id = ${account.id} and account.tenant_id = ${account.tenantId} and account.deleted_at is null
  `.execute(db)
  const [row] = rows
  if (!row) return null
  const { holder_id: id, tenant_id, data_key, oauth_app_id, cloud, ...grant } = row
  return { ...grant, account: { id, tenant_id, data_key, oauth_app_id, cloud } }
}

/** Stores what a user has just granted, in place of an earlier grant of the account. */
export async function storeGrant(
  tx: Transaction<Tables>,
  keys: AccountKeys,
  account: KeyedAccount,
  { client, grant }: { client: OAuthClient; grant: Grant },
): Promise<void> {
  const id = newId()
  const sealing = keys.tokenSealing(account, id)
  const { lifeSeconds, refreshSeconds } = planLife(grant.expiresInSeconds)
  await tx.deleteFrom('oauth_grant').where('account_id', '=', account.id).execute()
  await tx
    .insertInto('oauth_grant')
    .values({
      account_id: account.id,
      id,
      provider: client.provider,
      client_id: client.clientId,
      scopes: [...grant.scopes],
      refresh_token: sealing.seal(grant.refreshToken, 'refresh_token'),
      access_token: sealing.seal(grant.accessToken, 'access_token'),
      issued_at: sql`clock_timestamp()`,
      expires_at: inSeconds(lifeSeconds),
      refresh_at: inSeconds(refreshSeconds),
    })
    .execute()
}

/** The grant that opens an account. */
export interface Granted {
  scopes: string[]
  /** The client that got it. */
  clientId: string
  /** The provider's id of the user who gave it. */
  subject: string | null
}

/** Finds the grant that opens an account; null if the account is not opened by OAuth. */
export async function findGranted(db: Kysely<Tables>, accountId: string): Promise<Granted | null> {
  const { rows } = await sql<Granted>`
    select scopes, client_id as "clientId", holder.subject
    from account join account as holder on ${ofHolder}
    join oauth_grant on oauth_grant.account_id = holder.id
    where account.id = ${accountId}
  `.execute(db)
  return rows[0] ?? null
}

/** One refresh of a grant: which one, and who carries it out. */
export interface Refresh {
  grant: Pick<StoredGrant, 'id' | 'version'>
  by: string
}

/** Takes the right to refresh the grant. Returns false if another holds it, or the grant has changed. */
export async function leaseRefresh(db: Db, { grant, by }: Refresh): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update oauth_grant set refreshing_by = ${by}, refreshing_until = ${inSeconds(LEASE_SECONDS)}
    where id = ${grant.id} and version = ${grant.version} and refused_at is null
      and (refreshing_by is null or refreshing_by = ${by} or refreshing_until < clock_timestamp())
  `.execute(db)
  return numAffectedRows > 0n
}

/**
 * Stores what a refresh brought, before any of it is used, even if the lease is over: the token that was asked with may be
 * used up. Returns false if the grant has changed meanwhile; a new refresh token is then kept beside the one that the
 * other brought, since only one of them may still be good.
 */
export async function saveRefresh(
  db: Db,
  sealing: TokenSealing,
  { grant }: Refresh,
  tokens: Tokens,
): Promise<boolean> {
  const { lifeSeconds, refreshSeconds } = planLife(tokens.expiresInSeconds)
  const refreshToken = tokens.refreshToken && sealing.seal(tokens.refreshToken, 'refresh_token')
  const { numAffectedRows = 0n } = await sql`
    update oauth_grant set version = version + 1,
      access_token = ${sealing.seal(tokens.accessToken, 'access_token')},
      issued_at = clock_timestamp(), expires_at = ${inSeconds(lifeSeconds)}, refresh_at = ${inSeconds(refreshSeconds)},
      ${
        refreshToken
          ? sql`previous_refresh_token = refresh_token, refresh_token = ${refreshToken},
                previous_until = clock_timestamp() + make_interval(hours => ${PREVIOUS_HOURS}),`
          : sql``
      }
      ${FINISHED}
    where id = ${grant.id} and version = ${grant.version} and refused_at is null
  `.execute(db)
  if (numAffectedRows > 0n) return true
  if (refreshToken) {
    // With a new version, so that nobody who read the row before believes a refusal of what was in it.
    await sql`
      update oauth_grant set version = version + 1, previous_refresh_token = ${refreshToken},
        previous_until = clock_timestamp() + make_interval(hours => ${PREVIOUS_HOURS})
      where id = ${grant.id}
    `.execute(db)
  }
  return false
}

const FINISHED = sql`refreshing_by = null, refreshing_until = null, failures = 0, failure = null,
  failure_reason = null, retry_at = null`

/**
 * Gives the right to refresh back, with the reason of the failure and the time for which the provider is left alone.
 */
export async function pauseRefresh(
  db: Db,
  { grant, by }: Refresh,
  failure: { kind: FailureKind; reason: FailureReason | null; pauseSeconds: number },
): Promise<void> {
  await sql`
    update oauth_grant set refreshing_by = null, refreshing_until = null, failures = failures + 1,
      failure = ${failure.kind}, failure_reason = ${failure.reason}, retry_at = ${inSeconds(failure.pauseSeconds)}
    where id = ${grant.id} and version = ${grant.version} and refreshing_by = ${by}
  `.execute(db)
}

/** Forgets refresh tokens whose successors have proven good. */
export async function forgetPreviousTokens(db: Db): Promise<void> {
  await sql`
    update oauth_grant set previous_refresh_token = null, previous_until = null
    where previous_until < clock_timestamp()
  `.execute(db)
}

function inSeconds(seconds: number) {
  return sql<Date>`clock_timestamp() + make_interval(secs => ${seconds})`
}

/** Ends the pauses of the grants that open these accounts: a token that is needed is asked for at once. */
export async function endPauses(unit: UnitOfWork, accountIds: readonly string[]): Promise<void> {
  const paused = sql`
    select account_id from oauth_grant
    where retry_at is not null and account_id in (
      select coalesce(delegate_account_id, id) from account where id = any(${[...accountIds]}::uuid[]))`
  // Accounts of two pages may share grants, so these are locked in their order.
  await executeUnawaited(unit.sql, sql`${paused} order by account_id for no key update`)
  await sql`update oauth_grant set retry_at = null where account_id in (${paused})`.execute(unit.sql)
}

/** Deletes the grant of an account, and returns what it takes to revoke it. */
export function deleteGrant(unit: UnitOfWork, accountId: string) {
  return unit.sql
    .deleteFrom('oauth_grant')
    .where('account_id', '=', accountId)
    .returning(['id', 'provider', 'client_id', 'refresh_token', 'refused_at'])
    .executeTakeFirst()
}

/** The access token of a grant of the account's own; null if the provider does not take it any more. */
export async function findAccessToken(
  unit: UnitOfWork,
  accountId: string,
): Promise<{ id: string; access_token: Buffer; expires_at: Date } | null> {
  const row = await unit.sql
    .selectFrom('oauth_grant')
    .select(['id', 'access_token', 'expires_at'])
    .where('account_id', '=', accountId)
    .where('refused_at', 'is', null)
    .where('expires_at', '>', sql<Date>`clock_timestamp()`)
    .executeTakeFirst()
  return row ?? null
}
