import type { ConnectSession } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { setPastDue } from '../../src/features/tenancy/tenants/store.ts'
import { Secret } from '../../src/kit/secret.ts'
import { launchChromium, openContext } from '../chromium.ts'
import { type TestApp, type TestAppOptions, openTestApp } from '../open-app.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { type AppSite, openAppSite } from './app-site.ts'
import { ALL } from './use-refresh-tokens.ts'

/** A browser of one person. */
export interface Person {
  context: BrowserContext
  page: Page
  /** Blocks by the policy, errors of scripts and errors of the console, on pages of the service. */
  complaints: string[]
  /** Every request of the browser, to whatever host. */
  requests(): Promise<{ url: string; referer: string | null; method: string }[]>
}

/** A link by which a mailbox is connected. */
export interface Link {
  id: string
  url: string
  token: string
  read(): Promise<ConnectSession>
}

/**
 * Opens the service with the sandbox as its providers, the web site of a tenant, and Chromium, once for all tests of a
 * file. Each person has a context of their own, which ends with the test.
 */
export function useConnect(options: () => Promise<TestAppOptions> = async () => ({})) {
  const opened = new AsyncDisposableStack()
  let parts: { app: TestApp; sandbox: SandboxServer; site: AppSite; browser: Browser } | undefined
  let contexts: BrowserContext[] = []
  let users = 0
  let plans = 0
  beforeAll(async () => {
    const { config, ...others } = await options()
    const sandbox = opened.use(await startSandbox())
    const site = opened.use(await openAppSite())
    const app = opened.use(
      await openTestApp({
        ...others,
        config: {
          sandboxUrl: sandbox.controlUrl,
          googleClientId: 'sandbox',
          googleClientSecret: new Secret('sandbox-secret'),
          ...config,
        },
      }),
    )
    const browser = await launchChromium()
    opened.defer(() => browser.close())
    await app.patch('/v1/settings', { redirectUris: [site.redirectUri] })
    parts = { app, sandbox, site, browser }
  })
  afterAll(() => opened.disposeAsync())
  afterEach(async () => {
    await Promise.all(contexts.map(context => context.close()))
    contexts = []
  })
  const opening = () => {
    if (!parts) throw new Error('the service runs only while tests do')
    return parts
  }

  /** A user of the sandbox that no other test signs in as; its address. */
  async function newUser(): Promise<string> {
    users += 1
    await opening().sandbox.addUser(`person${users}@gmail.test`, { name: `Person ${users}` })
    return `person${users}@gmail.test`
  }

  /** Creates a connect session that returns to the site, unless the body has another URL. */
  async function link(body: Record<string, unknown> = {}): Promise<Link> {
    const { app, site } = opening()
    const given = { redirectUri: site.redirectUri, state: 'a b&c', ...body }
    const made = await app.post<{ id: string; url: string }>('/v1/connect-sessions', given)
    if (made.status !== 200) throw new Error(JSON.stringify(made.body))
    const { id, url } = made.body
    const read = async () => (await app.get<ConnectSession>(`/v1/connect-sessions/${id}`)).body
    return { id, url, token: url.slice(url.lastIndexOf('/') + 1), read }
  }

  return {
    get app() {
      return opening().app
    },
    get sandbox() {
      return opening().sandbox
    },
    get site() {
      return opening().site
    },
    /** A person with a browser of their own. */
    async person(ofContext: BrowserContextOptions = {}): Promise<Person> {
      const context = await openContext(opening().browser, ofContext)
      contexts.push(context)
      const page = await context.newPage()
      return watch(context, page, opening().app.address)
    },
    /** Limits the accounts of the tenant; null: to no number. */
    async limitAccounts(maxAccounts: number | null): Promise<void> {
      const { db, tenantId } = opening().app
      plans += 1
      const plan = await createPlan(db, `plan ${plans}`, { ...NO_LIMITS, maxAccounts })
      if (plan) await assignPlan(db, tenantId, plan)
    },
    async setPastDue(isPastDue: boolean): Promise<void> {
      const { db, tenantId } = opening().app
      await setPastDue(db, tenantId, isPastDue)
    },
    newUser,
    link,
    /** Connects the mailbox of a new user, without a browser. */
    async connectNew(): Promise<{ email: string; accountId: string }> {
      const { app, sandbox } = opening()
      const email = await newUser()
      const { refreshToken } = await sandbox.grant(email, ALL)
      const made = await app.post<{ id: string }>('/v1/accounts', { provider: 'google', refreshToken })
      if (made.status !== 200) throw new Error(JSON.stringify(made.body))
      return { email, accountId: made.body.id }
    },
    /** The parameters with which a person comes back to the site. */
    async returned(page: Page): Promise<Record<string, string>> {
      await page.waitForURL(url => url.href.startsWith(opening().site.redirectUri))
      return Object.fromEntries(new URL(page.url()).searchParams)
    },
  }
}

function watch(context: BrowserContext, page: Page, address: string): Person {
  const complaints: string[] = []
  const requests: ReturnType<typeof describe>[] = []
  context.on('request', request => void requests.push(describe(request)))
  context.on('weberror', error => void complaints.push(error.error().message))
  context.on('console', message => {
    const isOurs = message.location().url.startsWith(address)
    // Chromium reports each page whose status is an error.
    const isStatus = /the server responded with a status of 4\d\d/.test(message.text())
    if (message.type() === 'error' && isOurs && !isStatus) complaints.push(message.text())
  })
  return { context, page, complaints, requests: () => Promise.all(requests) }
}

async function describe(request: Request) {
  const referer = await request.headerValue('referer').catch(() => null)
  return { url: request.url(), method: request.method(), referer }
}
