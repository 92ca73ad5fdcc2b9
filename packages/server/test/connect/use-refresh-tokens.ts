import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { afterAll, beforeAll } from 'vitest'
import { Secret } from '../../src/kit/secret.ts'
import { type TestApp, openTestApp } from '../open-app.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'

export const API = 'https://www.googleapis.com/auth/'
/** Scopes that identify the user. */
export const WHO = ['openid', 'email', 'profile']
export const MAIL = `${API}gmail.modify`
export const ALL = [...WHO, MAIL, `${API}gmail.settings.basic`, `${API}calendar`, `${API}contacts`]
/** The operator's app. */
export const CLIENT = { clientId: 'sandbox', clientSecret: new Secret('sandbox-secret') }

export interface GivenGrant {
  email: string
  refreshToken: string
}

/** The service and a sandbox, once for the tests of a file, with users who bring refresh tokens of the operator's app. */
export function useRefreshTokens() {
  const opened = new AsyncDisposableStack()
  let parts: { sandbox: SandboxServer; app: TestApp } | undefined
  let users = 0
  beforeAll(async () => {
    const sandbox = opened.use(await startSandbox())
    const config = {
      sandboxUrl: sandbox.controlUrl,
      googleClientId: CLIENT.clientId,
      googleClientSecret: CLIENT.clientSecret,
    }
    parts = { sandbox, app: opened.use(await openTestApp({ roles: ['api', 'jobs'], config })) }
  })
  afterAll(() => opened.disposeAsync())
  const running = () => {
    if (!parts) throw new Error('the service runs only while tests do')
    return parts
  }

  /** Adds a user that no other test uses; returns its address. */
  async function newUser(): Promise<string> {
    users += 1
    const email = `user${users}@gmail.test`
    await running().sandbox.addUser(email, { name: `User ${users}` })
    return email
  }

  return {
    get sandbox() {
      return running().sandbox
    },
    get app() {
      return running().app
    },
    newUser,
    async newGrant(scopes: readonly string[] = ALL, email?: string): Promise<GivenGrant> {
      const user = email ?? (await newUser())
      return { email: user, refreshToken: (await running().sandbox.grant(user, scopes)).refreshToken }
    },
    connect: (
      refreshToken: string,
      more: Record<string, unknown> = {},
      by: Pick<TestApp, 'post'> = running().app,
    ) => by.post<Account>('/v1/accounts', { provider: 'google', refreshToken, ...more }),
  }
}
