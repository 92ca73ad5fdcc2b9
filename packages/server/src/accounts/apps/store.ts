import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { GmailPush, OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { isUuid } from '../../kit/ids.ts'

export interface AppRow {
  id: string
  tenantId: string
  provider: OAuthProvider
  cloud: Account['cloud']
  name: string
  clientId: string
  credentialType: OAuthApp['credentialType']
  /** Sealed; see `AppSecrets`. The client secret, or the private key of the certificate. */
  secret: Buffer
  /** In PEM; null if the app has a client secret. */
  certificate: string | null
  scopes: string[] | null
  gmailPush: GmailPush | null
  createdAt: Date
  updatedAt: Date
}

/** An app with the number of its live accounts. */
export interface CountedApp extends AppRow {
  accounts: number
}

/** The columns of `AppRow`. */
export const appColumns = sql.raw(
  `oauth_app.id, oauth_app.tenant_id as "tenantId", oauth_app.provider, oauth_app.cloud, name, client_id as "clientId",
   credential_type as "credentialType", secret, certificate, scopes,
   case when push_topic is not null then json_build_object('topic', push_topic, 'subscription', push_subscription,
     'serviceAccount', push_service_account) end as "gmailPush",
   oauth_app.created_at as "createdAt", oauth_app.updated_at as "updatedAt"`,
)

const liveAccounts = sql.raw(
  `(select count(*)::int from account where account.tenant_id = oauth_app.tenant_id and oauth_app_id = oauth_app.id
    and deleted_at is null) as accounts`,
)

/** Lists every app of a tenant, newest first. */
export async function listApps(db: Db, tenantId: string): Promise<CountedApp[]> {
  const { rows } = await sql<CountedApp>`
    select ${appColumns}, ${liveAccounts} from oauth_app where tenant_id = ${tenantId}
    order by created_at desc, id desc
  `.execute(db)
  return rows
}

/** For sign-ins and refreshes, which do not ask how many accounts the app has. */
export async function findApp(db: Db, tenantId: string, id: string): Promise<AppRow | null> {
  if (!isUuid(id)) return null
  const { rows } = await sql<AppRow>`
    select ${appColumns} from oauth_app where tenant_id = ${tenantId} and id = ${id}
  `.execute(db)
  return rows[0] ?? null
}

export async function findCountedApp(db: Db, tenantId: string, id: string): Promise<CountedApp | null> {
  if (!isUuid(id)) return null
  const { rows } = await sql<CountedApp>`
    select ${appColumns}, ${liveAccounts} from oauth_app where tenant_id = ${tenantId} and id = ${id}
  `.execute(db)
  return rows[0] ?? null
}

/** Reads the app, and keeps others from changing it, or from connecting accounts with it, until the transaction ends. */
export async function lockApp({ sql: tx, tenantId }: UnitOfWork, id: string): Promise<CountedApp | null> {
  if (!isUuid(id)) return null
  await sql`select from oauth_app where tenant_id = ${tenantId} and id = ${id} for update`.execute(tx)
  // In a statement of its own, which sees the accounts that were connected while it waited.
  return findCountedApp(tx, tenantId, id)
}

/**
 * Keeps the app from being deleted until the transaction ends. Returns false if it is gone. Locks are taken in the order
 * connect session, app, tenant, account.
 */
export async function holdApp({ sql: tx, tenantId }: UnitOfWork, id: string): Promise<boolean> {
  const { rows } = await sql`
    select from oauth_app where tenant_id = ${tenantId} and id = ${id} for key share
  `.execute(tx)
  return rows.length > 0
}

/** The tenant's oldest app of a provider and, of Microsoft, of a cloud. */
export async function findOldestApp(
  db: Db,
  tenantId: string,
  { provider, cloud }: Pick<AppRow, 'provider' | 'cloud'>,
): Promise<AppRow | null> {
  const { rows } = await sql<AppRow>`
    select ${appColumns} from oauth_app
    where tenant_id = ${tenantId} and provider = ${provider} and cloud is not distinct from ${cloud}
    order by created_at, id limit 1
  `.execute(db)
  return rows[0] ?? null
}

/** A page of the apps of all tenants, by id. For the operator only. */
export async function listEveryApp(db: Db, afterId: string, limit: number): Promise<CountedApp[]> {
  const { rows } = await sql<CountedApp>`
    select ${appColumns}, ${liveAccounts} from oauth_app where id > ${afterId} order by id limit ${limit}
  `.execute(db)
  return rows
}
