import type { AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { ConnectError } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isUuid } from '../../../kit/ids.ts'
import { digestSecret } from './rules.ts'

/** Days for which a session can be read. */
export const KEPT_DAYS = 30

export interface SessionRow {
  id: string
  tenantId: string
  tenantName: string
  kind: 'hosted' | 'headless'
  /** In the order of the buttons. */
  providers: OAuthProvider[]
  passwordImap: boolean
  microsoftCloud: Account['cloud']
  /** The apps that were named. */
  appIds: Partial<Record<OAuthProvider, string>>
  redirectUri: string | null
  returnState: string | null
  externalRef: string | null
  loginHint: string | null
  /** The own settings of the account to come. */
  settings: AccountSettingsOverride
  /** Whether the user is asked for mailboxes of others. */
  wantsShared: boolean
  isReconnect: boolean
  /** The account that signs in again, or the one that was connected. */
  accountId: string | null
  email: string | null
  createdAt: Date
  expiresAt: Date
  endedAt: Date | null
  /** Null while it is pending, and when it has completed. */
  error: ConnectError | null
}

const columns = sql.raw(`
  connect_session.id, tenant_id as "tenantId", tenant.name as "tenantName", kind, providers,
  password_imap as "passwordImap", microsoft_cloud as "microsoftCloud", app_ids as "appIds",
  redirect_uri as "redirectUri", return_state as "returnState", external_ref as "externalRef",
  login_hint as "loginHint", connect_session.settings, wants_shared as "wantsShared", is_reconnect as "isReconnect", account_id as "accountId", email,
  connect_session.created_at as "createdAt", expires_at as "expiresAt", ended_at as "endedAt",
  -- One that was not completed in time has failed, without anybody doing anything.
  coalesce(error, case when ended_at is null and expires_at <= clock_timestamp() then 'session_expired' end) as error`)

const isKept = sql`connect_session.created_at > clock_timestamp() - make_interval(days => ${KEPT_DAYS})`

async function findOne(db: Db, condition: RawBuilder<unknown>, suffix = sql``): Promise<SessionRow | null> {
  const { rows } = await sql<SessionRow>`
    select ${columns} from connect_session join tenant on tenant.id = tenant_id
    where ${condition} and ${isKept} and suspended_at is null ${suffix}
  `.execute(db)
  return rows[0] ?? null
}

/** A session of the interface. Headless flows cannot be read. */
export async function findSession(db: Db, tenantId: string, id: string): Promise<SessionRow | null> {
  if (!isUuid(id)) return null
  return findOne(db, sql`tenant_id = ${tenantId} and connect_session.id = ${id} and kind = 'hosted'`)
}

/** The session of a link. Null if the token is malformed or unknown, or its tenant is suspended. */
export async function findByToken(db: Db, token: string): Promise<SessionRow | null> {
  const digest = digestSecret(token)
  return digest && findOne(db, sql`digest = ${digest}`)
}

/** Reads a session and locks it until the transaction ends. Comes before any lock of its tenant. */
export async function lockSession(unit: UnitOfWork, id: string): Promise<SessionRow | null> {
  return findOne(
    unit.sql,
    sql`tenant_id = ${unit.tenantId} and connect_session.id = ${id}`,
    sql`for no key update of connect_session`,
  )
}

/** The state of a session: only a pending one can still be used. */
export function stateOf(session: SessionRow): 'pending' | 'completed' | 'failed' {
  if (session.error !== null) return 'failed'
  return session.endedAt === null ? 'pending' : 'completed'
}
