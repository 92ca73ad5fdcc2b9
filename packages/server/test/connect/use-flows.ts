import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { ConnectSession } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import { type OpenFlows, openTestFlows, type TestFlows } from '../connect-flows.ts'
import { type TestApp, openTestApp } from '../open-app.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'

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

type Tenant = Awaited<ReturnType<TestApp['createTenant']>>

/**
 * The service, a sandbox and the flows between them, once for the tests of a file. Each test has a tenant of its own, with
 * an OAuth app.
 */
export function useFlows() {
  const opened = new AsyncDisposableStack()
  let parts: { sandbox: SandboxServer; app: TestApp; open: OpenFlows } | undefined
  let given: { tenant: Tenant; world: TestFlows; googleApp: OAuthApp } | undefined
  beforeAll(async () => {
    const users = [ADA, BEN].map(email => ({ email, messages: 0 }))
    const clients = [{ clientId: 'sandbox', clientSecret: 'sandbox-secret' }]
    const sandbox = opened.use(await startSandbox({ seed: { users, clients } }))
    const app = opened.use(await openTestApp())
    parts = { sandbox, app, open: opened.use(await openTestFlows(app, sandbox)) }
  })
  afterAll(() => opened.disposeAsync())
  beforeEach(async () => {
    await running().sandbox.clearFaults()
    given = await newTenant()
  })

  const running = () => {
    if (!parts) throw new Error('the service runs only while tests do')
    return parts
  }
  const ofTest = () => {
    if (!given) throw new Error('a tenant is made for each test')
    return given
  }

  async function newTenant() {
    const { app, open } = running()
    const tenant = await app.createTenant(`tenant ${newId()}`)
    await tenant.patch('/v1/settings', { redirectUris: [BACK] })
    const client = { provider: 'google', name: 'M', clientId: 'sandbox', clientSecret: 'sandbox-secret' }
    const { body: googleApp } = await tenant.post<OAuthApp>('/v1/oauth-apps', client)
    return { tenant, world: open.of(tenant), googleApp }
  }

  return {
    get sandbox() {
      return running().sandbox
    },
    get app() {
      return running().app
    },
    get tenant() {
      return ofTest().tenant
    },
    /** The flows of the tenant. */
    get world() {
      return ofTest().world
    },
    get googleApp() {
      return ofTest().googleApp
    },
    newTenant,
    read: async (sessionId: string | null) =>
      (await ofTest().tenant.get<ConnectSession>(`/v1/connect-sessions/${sessionId}`)).body,
    async accounts(): Promise<Account[]> {
      return (await ofTest().tenant.get<{ items: Account[] }>('/v1/accounts')).body.items
    },
    /** The rows of the audit log about ends of flows. */
    async endRows() {
      const { rows } = await sql<Record<string, unknown>>`
        select actor_type, actor_id, surface, targets, ip, user_agent, status, error_reason from audit_open
        where action = 'connect_session.complete' and tenant_id = ${ofTest().tenant.tenantId} order by id
      `.execute(running().app.db)
      return rows
    },
    /** Everything that a flow may change. */
    async everything(): Promise<unknown> {
      const tables = ['account', 'connect_session', 'connect_attempt', 'oauth_grant', 'event', 'audit_open']
      const { db } = running().app
      const found = tables.map(table => sql`select * from ${sql.table(table)} order by 1`.execute(db))
      return (await Promise.all(found)).map(({ rows }) => rows)
    },
    expire: (table: 'connect_session' | 'connect_attempt') =>
      sql`update ${sql.table(table)} set expires_at = clock_timestamp()`.execute(running().app.db),
  }
}
