import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'

/** A channel that notifies of the changes of one calendar. */
export interface Channel {
  /** A UUID. */
  id: string
  calendarKey: string
  resourceId: string
  /** The address to which its notices go. */
  address: string
  expiresAt: Date
  /** The time from which it is replaced. */
  renewAt: Date
}

export interface NewChannel extends Channel {
  /** SHA-256 of the token that proves its notices. */
  tokenDigest: Buffer
}

/** The channels of an account. `isOfGrant` is false for those that were opened under an earlier grant. */
export async function listChannels(
  db: Db,
  accountId: string,
): Promise<Array<Channel & { isOfGrant: boolean }>> {
  const { rows } = await sql<Channel & { isOfGrant: boolean }>`
    select channel.id, calendar_key as "calendarKey", resource_id as "resourceId", address, channel.expires_at as "expiresAt",
      renew_at as "renewAt", begun_at >= oauth_grant.created_at as "isOfGrant"
    from calendar_channel as channel join oauth_grant using (account_id)
    where account_id = ${accountId}
  `.execute(db)
  return rows
}

/**
 * Keeps a channel that was opened, in place of a former one of its calendar. Returns false if the account was paused or
 * deleted meanwhile: nothing is kept then.
 */
export async function recordChannel(db: Db, accountId: string, channel: NewChannel): Promise<boolean> {
  const { id, calendarKey, resourceId, tokenDigest, address, expiresAt, renewAt } = channel
  // The lock waits for a pause that is under way, which takes the channels along.
  const { numAffectedRows = 0n } = await sql`
    insert into calendar_channel
      (id, account_id, calendar_key, resource_id, token_digest, address, expires_at, renew_at)
    select ${id}, id, ${calendarKey}, ${resourceId}, ${tokenDigest}, ${address}, ${expiresAt}, ${renewAt} from account
    where id = ${accountId} and deleted_at is null and status = 'active' for share
    on conflict (account_id, calendar_key) do update set id = excluded.id, resource_id = excluded.resource_id,
      token_digest = excluded.token_digest, address = excluded.address, begun_at = excluded.begun_at,
      expires_at = excluded.expires_at, renew_at = excluded.renew_at
  `.execute(db)
  return numAffectedRows > 0n
}

/** Forgets a channel that has ended. */
export async function forgetChannel(db: Db, id: string): Promise<void> {
  await sql`delete from calendar_channel where id = ${id}`.execute(db)
}

/** Forgets the channels of a locked account, and returns what their end takes. */
export async function takeChannels(
  unit: UnitOfWork,
  accountId: string,
): Promise<Array<Pick<Channel, 'id' | 'resourceId'>>> {
  const { rows } = await sql<Pick<Channel, 'id' | 'resourceId'>>`
    delete from calendar_channel where account_id = ${accountId} returning id, resource_id as "resourceId"
  `.execute(unit.sql)
  return rows
}

/** The account of a channel that has not ended, and the digest of its token; null if there is none of this id. */
export async function findChannel(
  db: Db,
  id: string,
): Promise<{ accountId: string; tokenDigest: Buffer } | null> {
  const { rows } = await sql<{ accountId: string; tokenDigest: Buffer }>`
    select account_id as "accountId", token_digest as "tokenDigest" from calendar_channel
    where id = ${id} and expires_at > clock_timestamp()
  `.execute(db)
  return rows[0] ?? null
}

/** Counts the channels of the whole installation that have ended, and that no other one has replaced. */
export async function countEndedChannels(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from calendar_channel where expires_at < clock_timestamp()
  `.execute(db)
  return rows[0]?.count ?? 0
}
