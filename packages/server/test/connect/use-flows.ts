import type { ConnectSession } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { sql } from 'kysely'
import { newId } from '../../src/kit/ids.ts'
import type { TestFlows } from '../connect-flows.ts'
import type { TestTenant } from '../open-app.ts'
import { extend, useFlowWorld } from './use-flow-world.ts'

export const BACK = 'https://app.example.com/connected'
export const MODIFY = 'https://www.googleapis.com/auth/gmail.modify'
export const CALENDAR = 'https://www.googleapis.com/auth/calendar'
export const ADA = 'ada@gmail.test'
export const BEN = 'ben@gmail.test'
/** A session by which a new mailbox is connected. */
export const NEW = { redirectUri: BACK, providers: ['google'], state: 's' }

/** The end of such a session. */
export const failedWith = (error: string) => ({
  outcome: 'returned',
  url: `${BACK}?status=error&error=${error}&state=s`,
})

/**
 * The service, a sandbox and the flows between them, once for the tests of a file. Each test has a tenant of its own, with
 * an OAuth app.
 */
export function useFlows() {
  const at = useFlowWorld({
    seed: {
      users: [ADA, BEN].map(email => ({ email, messages: 0 })),
      clients: [{ clientId: 'sandbox', clientSecret: 'sandbox-secret' }],
    },
    async give({ sandbox }) {
      await sandbox.clearFaults()
      return newTenant()
    },
  })

  async function newTenant(): Promise<{ tenant: TestTenant; world: TestFlows; googleApp: OAuthApp }> {
    const { app, open } = at
    const tenant = await app.createTenant(`tenant ${newId()}`)
    await tenant.patch('/v1/settings', { redirectUris: [BACK] })
    const client = { provider: 'google', name: 'M', clientId: 'sandbox', clientSecret: 'sandbox-secret' }
    const { body: googleApp } = await tenant.post<OAuthApp>('/v1/oauth-apps', client)
    return { tenant, world: open.of(tenant), googleApp }
  }

  return extend(at, {
    get googleApp() {
      return at.given.googleApp
    },
    newTenant,
    read: async (sessionId: string | null) =>
      (await at.tenant.get<ConnectSession>(`/v1/connect-sessions/${sessionId}`)).body,
    /** The rows of the audit log about ends of flows. */
    async endRows() {
      const { rows } = await sql<Record<string, unknown>>`
        select actor_type, actor_id, surface, targets, ip, user_agent, status, error_reason from audit_open
        where action = 'connect_session.complete' and tenant_id = ${at.tenant.tenantId} order by id
      `.execute(at.app.db)
      return rows
    },
    expire: (table: 'connect_session' | 'connect_attempt') =>
      sql`update ${sql.table(table)} set expires_at = clock_timestamp()`.execute(at.app.db),
  })
}
