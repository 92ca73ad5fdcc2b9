import { sql } from 'kysely'
import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { ClientName } from '../../../accounts/apps/clients.ts'
import { digestSecret } from './rules.ts'
import { endAttempts } from './record.ts'

/** Time that a sign-in at the provider may take. */
export const ATTEMPT_SECONDS = 600

export interface NewAttempt extends ClientName {
  id: string
  sessionId: string
  /** The showing of the page whose Continue was pressed. */
  showing: string
  /** The permissions that the provider is asked for. */
  scopes: readonly string[]
  stateDigest: Buffer
  cookieDigest: Buffer
}

/** Presses of Continue in one session. */
const ATTEMPTS_MAX = 100

/**
 * Records that Continue was pressed, in place of any earlier attempt. The session must be locked.
 * @returns `stale` if that showing of the page was used before, `spent` if the session has no attempt left, else null
 */
export async function recordAttempt(
  unit: UnitOfWork,
  attempt: NewAttempt,
): Promise<'stale' | 'spent' | null> {
  const { id, sessionId, showing, provider, cloud, appId, scopes, stateDigest, cookieDigest } = attempt
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from connect_attempt where session_id = ${sessionId}
  `.execute(unit.sql)
  if ((rows[0]?.count ?? 0) >= ATTEMPTS_MAX) return 'spent'
  const { numAffectedRows = 0n } = await sql`
    insert into connect_attempt (id, session_id, showing, provider, cloud, app_id, scopes, state_digest, cookie_digest,
      expires_at)
    values (${id}, ${sessionId}, ${showing}, ${provider}, ${cloud}, ${appId}, ${[...scopes]}::text[], ${stateDigest},
      ${cookieDigest}, clock_timestamp() + make_interval(secs => ${ATTEMPT_SECONDS}))
    on conflict (session_id, showing) do nothing
  `.execute(unit.sql)
  if (numAffectedRows === 0n) return 'stale'
  await endAttempts(unit, sql`session_id = ${sessionId} and id <> ${id}`)
  return null
}

/** An attempt that came back from the provider. */
export interface Attempt extends ClientName {
  id: string
  tenantId: string
  sessionId: string
  /** The permissions that the provider was asked for. */
  scopes: string[]
  cookieDigest: Buffer
}

/** The attempt of a `state` that has not ended. */
export async function findAttempt(db: Db, provider: string, state: string): Promise<Attempt | null> {
  const digest = digestSecret(state)
  if (!digest) return null
  const { rows } = await sql<Attempt & { provider: OAuthProvider }>`
    select connect_attempt.id, tenant_id as "tenantId", session_id as "sessionId", provider, cloud, app_id as "appId",
      scopes, cookie_digest as "cookieDigest"
    from connect_attempt join connect_session on connect_session.id = session_id
    where state_digest = ${digest} and provider = ${provider} and connect_attempt.ended_at is null
      and connect_attempt.expires_at > clock_timestamp()
  `.execute(db)
  return rows[0] ?? null
}

/** Ends an attempt that came back. Returns false for all callers but one. */
export async function claimAttempt(db: Db, id: string): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update connect_attempt set ended_at = clock_timestamp()
    where id = ${id} and ended_at is null and expires_at > clock_timestamp()
  `.execute(db)
  return numAffectedRows > 0n
}
