import { type RawBuilder, sql } from 'kysely'
import type { ConnectError } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { SessionRow } from './store.ts'

export type NewSession = Omit<
  SessionRow,
  'tenantId' | 'tenantName' | 'email' | 'createdAt' | 'expiresAt' | 'endedAt' | 'error'
> & { digest: Buffer; ttlSeconds: number }

/** @returns when it expires */
export async function recordSession(unit: UnitOfWork, session: NewSession): Promise<Date> {
  const { rows } = await sql<{ expiresAt: Date }>`
    insert into connect_session (id, tenant_id, kind, digest, providers, password_imap, microsoft_cloud, app_ids,
      redirect_uri, return_state, external_ref, login_hint, settings, wants_shared, is_reconnect, account_id,
      expires_at)
    values (${session.id}, ${unit.tenantId}, ${session.kind}, ${session.digest}, ${session.providers}::text[],
      ${session.passwordImap}, ${session.microsoftCloud}, ${JSON.stringify(session.appIds)}, ${session.redirectUri},
      ${session.returnState}, ${session.externalRef}, ${session.loginHint}, ${JSON.stringify(session.settings)},
      ${session.wantsShared}, ${session.isReconnect}, ${session.accountId}, clock_timestamp() + make_interval(secs => ${session.ttlSeconds}))
    returning expires_at as "expiresAt"
  `.execute(unit.sql)
  const [row] = rows
  if (!row) throw new Error('An insert returned no row')
  return row.expiresAt
}

/** Ends a locked session: with the connected account, or with the error. */
export async function recordEnd(
  unit: UnitOfWork,
  id: string,
  end: { account: { id: string; email: string } } | { error: ConnectError },
): Promise<void> {
  const outcome =
    'error' in end
      ? sql`error = ${end.error}`
      : sql`account_id = ${end.account.id}, email = ${end.account.email}`
  await sql`
    update connect_session set ended_at = clock_timestamp(), ${outcome}
    where tenant_id = ${unit.tenantId} and id = ${id} and ended_at is null
  `.execute(unit.sql)
  await endAttempts(unit, sql`session_id = ${id}`)
}

/** Limits of the uses of a session. */
const USES = { logins: 5, searches: 30 } as const

/** Counts one more use of a pending session. Returns false if there is none left. */
export async function countUse(unit: UnitOfWork, id: string, use: keyof typeof USES): Promise<boolean> {
  const column = sql.ref(use)
  const { numAffectedRows = 0n } = await sql`
    update connect_session set ${column} = ${column} + 1
    where tenant_id = ${unit.tenantId} and id = ${id} and ended_at is null and ${column} < ${USES[use]}
  `.execute(unit.sql)
  return numAffectedRows > 0n
}

/** Ends the attempts of a session that are under way. */
export async function endAttempts(unit: UnitOfWork, condition: RawBuilder<unknown>): Promise<void> {
  await sql`
    update connect_attempt set ended_at = clock_timestamp() where ${condition} and ended_at is null
  `.execute(unit.sql)
}
