import type { GmailPush } from '@waxwing/contract/accounts/oauth-apps.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type AppRow, appColumns, type CountedApp } from '../../../accounts/apps/store.ts'

const APPS_MAX = 100

export type NewApp = Omit<AppRow, 'tenantId' | 'createdAt' | 'updatedAt'>

/** Inserts an app, or refuses one too many. */
export async function recordApp(unit: UnitOfWork, app: NewApp): Promise<CountedApp> {
  // Additions of a tenant follow one another, so that none counts too few.
  await sql`select from tenant where id = ${unit.tenantId} for no key update`.execute(unit.sql)
  const { topic = null, subscription = null, serviceAccount = null } = app.gmailPush ?? {}
  const { rows } = await sql<AppRow>`
    insert into oauth_app (id, tenant_id, provider, cloud, name, client_id, credential_type, secret, certificate,
      scopes, push_topic, push_subscription, push_service_account)
    select ${app.id}, ${unit.tenantId}, ${app.provider}, ${app.cloud}, ${app.name}, ${app.clientId},
      ${app.credentialType}, ${app.secret}, ${app.certificate}, ${app.scopes}::text[], ${topic}, ${subscription}, ${serviceAccount}
    where (select count(*) from oauth_app where tenant_id = ${unit.tenantId}) < ${APPS_MAX}
    returning ${appColumns}
  `.execute(unit.sql)
  const [row] = rows
  if (row) return { ...row, accounts: 0 }
  const message = `a tenant has at most ${APPS_MAX} OAuth apps`
  return refuse('invalid_input', { issues: [{ path: [], message }] })
}

/** The credential of an app as it is stored. */
export type StoredCredential = Pick<AppRow, 'credentialType' | 'secret' | 'certificate'>

/** Fields of an app that a request changes; absent ones stay. */
export interface AppChange {
  name?: string
  credential?: StoredCredential
  scopes?: string[] | null
  gmailPush?: GmailPush | null
}

/** Writes a change of a locked app. */
export async function recordChangedApp(
  unit: UnitOfWork,
  before: CountedApp,
  change: AppChange,
): Promise<CountedApp> {
  const { name, credential = before, scopes, gmailPush } = { ...before, ...change }
  const { topic = null, subscription = null, serviceAccount = null } = gmailPush ?? {}
  const { rows } = await sql<AppRow>`
    update oauth_app set name = ${name}, credential_type = ${credential.credentialType}, secret = ${credential.secret},
      certificate = ${credential.certificate}, scopes = ${scopes}::text[], push_topic = ${topic},
      push_subscription = ${subscription}, push_service_account = ${serviceAccount}, updated_at = clock_timestamp()
    where tenant_id = ${unit.tenantId} and id = ${before.id}
    returning ${appColumns}
  `.execute(unit.sql)
  const [row] = rows
  return row ? { ...row, accounts: before.accounts } : refuse('oauth_app_not_found')
}

/** Deletes a locked app that no live account uses. */
export async function removeApp(unit: UnitOfWork, app: CountedApp): Promise<void> {
  if (app.accounts > 0) refuse('oauth_app_in_use')
  await sql`delete from oauth_app where tenant_id = ${unit.tenantId} and id = ${app.id}`.execute(unit.sql)
}
