import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { beforeEach } from 'vitest'
import { type OpenFlows, openTestFlows, type TestFlows } from '../connect-flows.ts'
import { openTestApp, type TestApp, type TestAppOptions, type TestTenant } from '../open-app.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { useServer } from '../servers/shared-server.ts'

interface FlowWorld {
  sandbox: SandboxServer
  app: TestApp
  open: OpenFlows
}

export interface FlowWorldOptions<Given> {
  /** Users and clients of the sandbox. */
  seed: Record<string, unknown>
  app?(sandbox: SandboxServer): TestAppOptions
  /** Makes a tenant of its own for each test. */
  give(world: FlowWorld): Promise<Given>
}

/** The service, a sandbox and the flows between them, once for the tests of a file. */
export function useFlowWorld<Given extends { tenant: TestTenant; world: TestFlows }>({
  seed,
  app: optionsOf = () => ({}),
  give,
}: FlowWorldOptions<Given>) {
  const running = useServer(async () => {
    await using opened = new AsyncDisposableStack()
    const sandbox = opened.use(await startSandbox({ seed }))
    const app = opened.use(await openTestApp(optionsOf(sandbox)))
    const open = opened.use(await openTestFlows(app, sandbox))
    const owned = opened.move()
    return { sandbox, app, open, [Symbol.asyncDispose]: () => owned.disposeAsync() }
  })
  let given: Given | undefined
  beforeEach(async () => {
    given = await give(running())
  })
  const at = {
    get sandbox() {
      return running().sandbox
    },
    get app() {
      return running().app
    },
    get open() {
      return running().open
    },
    get given(): Given {
      if (!given) throw new Error('a tenant is made for each test')
      return given
    },
    get tenant() {
      return at.given.tenant
    },
    /** The flows of the tenant. */
    get world() {
      return at.given.world
    },
    async accounts(): Promise<Account[]> {
      return (await at.tenant.get<{ items: Account[] }>('/v1/accounts')).body.items
    },
    /** Everything that a flow may change. */
    async everything(): Promise<unknown> {
      const tables = ['account', 'connect_session', 'connect_attempt', 'oauth_grant', 'event', 'audit_open']
      const found = tables.map(table => sql`select * from ${sql.table(table)} order by 1`.execute(at.app.db))
      return (await Promise.all(found)).map(({ rows }) => rows)
    },
  }
  return at
}

/** Adds the properties of another object, getters as getters. */
export function extend<Base extends object, More extends object>(base: Base, more: More): Base & More {
  // The descriptors are those of `More`, which the type of the method does not show.
  return Object.defineProperties(base, Object.getOwnPropertyDescriptors(more)) as Base & More
}
