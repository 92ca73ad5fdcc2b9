import { accountKeys } from '../src/accounts/secrets.ts'
import { type ConnectFlows, openConnectFlows } from '../src/features/accounts/connect-sessions/flows.ts'
import { type FlowEnd } from '../src/features/accounts/connect-sessions/flow-parts.ts'
import { openOAuthClients } from '../src/accounts/apps/clients.ts'
import { trustAlso } from '../src/kit/authorities.ts'
import { parseEgressAllow } from '../src/kit/egress/allow-list.ts'
import { egressGuard } from '../src/kit/egress/guard.ts'
import { openLog } from '../src/kit/log.ts'
import { newId } from '../src/kit/ids.ts'
import { systemClock } from '../src/kit/clock.ts'
import { createOwnLimits } from '../src/limits/own-limits.ts'
import { googleSignIn } from '../src/providers/google/sign-in.ts'
import { ProviderCalls } from '../src/providers/http/provider-calls.ts'
import { microsoftSignIns } from '../src/providers/microsoft/sign-in.ts'
import { type OAuthProvider, signInsOf } from '../src/providers/sign-in.ts'
import type { Caller } from './caller.ts'
import type { TestApp } from './open-app.ts'
import type { SandboxServer } from './servers/sandbox.ts'

export const CALLER = { client: '203.0.113.7', ip: '203.0.113.7', userAgent: 'probe/1.0', requestId: 'test' }

/** A browser in which Continue was pressed. */
export interface Begun {
  authorizeUrl: string
  cookie: string
}

/** Flows of one tenant. */
export interface TestFlows {
  flows: ConnectFlows
  /** The token of a new link, hosted unless a provider is named. */
  createLink(body: Record<string, unknown>): Promise<{ id: string | null; token: string }>
  /** Presses Continue. */
  begin(token: string): Promise<Begun>
  /** Comes back from the provider. */
  comeBack(begun: Pick<Begun, 'cookie'>, redirectUrl: string): Promise<FlowEnd>
  /** Presses Continue, signs in and comes back. */
  signIn(
    token: string,
    user: string,
    options?: { scopes?: readonly string[]; deny?: boolean | 'admin_required' },
  ): Promise<FlowEnd>
}

export interface OpenFlows extends AsyncDisposable {
  flows: ConnectFlows
  /** The flows of the tenant of a caller, with Google unless another provider is named. */
  of(caller: Caller, provider?: OAuthProvider): TestFlows
}

export interface TestFlowOptions {
  /** Origins in place of those of the sandbox, by the names of their hosts. */
  hosts?: Readonly<Record<string, string>>
  exchangeSeconds?: number
}

/** Opens the flows of an API as its pages use them, with a sandbox in place of the provider. */
export async function openTestFlows(
  app: TestApp,
  sandbox: SandboxServer,
  { hosts, ...timing }: TestFlowOptions = {},
): Promise<OpenFlows> {
  const { db, keyRing } = app
  const origins = Object.entries({ ...sandbox.hosts, ...hosts })
  const standIns = new Map(origins.map(([host, url]) => [host, new URL(url)]))
  const calls = new ProviderCalls({
    guard: egressGuard({ allow: parseEgressAllow([]) }),
    authorities: trustAlso(null),
    standIns,
  })
  const log = openLog({
    level: 'debug',
    format: 'json',
    destination: { write: line => void app.logLines.push(line) },
  })
  const unused = () => Promise.reject(new Error('No test of these connects to a mail server'))
  const flows = openConnectFlows({
    ...timing,
    db,
    waker: { wake() {} },
    log,
    baseUrl: () => app.address,
    limits: createOwnLimits(systemClock),
    clients: await openOAuthClients(db, keyRing, { googleClientId: null, googleClientSecret: null }),
    signIns: signInsOf([googleSignIn({ calls, standIns }), ...microsoftSignIns({ calls, standIns })]),
    mail: {
      accountKeys: accountKeys(keyRing),
      servers: { imap: unused, smtp: unused, dav: unused },
      serverSearch: { find: unused },
      allowPlaintext: false,
    },
  })

  return {
    flows,
    of: (caller, provider = 'google') => flowsOf(caller, flows, sandbox, provider),
    [Symbol.asyncDispose]: () => calls[Symbol.asyncDispose](),
  }
}

function flowsOf(
  caller: Caller,
  flows: ConnectFlows,
  sandbox: SandboxServer,
  provider: OAuthProvider,
): TestFlows {
  const self: TestFlows = {
    flows,
    async createLink(body) {
      const path = 'provider' in body ? '/v1/oauth-authorizations' : '/v1/connect-sessions'
      const made = await caller.post<{ id?: string; url?: string; authorizeUrl?: string }>(path, body)
      const url = made.body.url ?? made.body.authorizeUrl
      if (url === undefined) throw new Error(JSON.stringify(made.body))
      return { id: made.body.id ?? null, token: url.slice(url.lastIndexOf('/') + 1) }
    },
    async begin(token) {
      const begun = await flows.begin(token, {
        provider,
        nonce: newId(),
        loginHint: null,
        caller: CALLER,
      })
      if (begun.outcome !== 'begun') throw new Error(JSON.stringify(begun))
      return { authorizeUrl: begun.authorizeUrl, cookie: begun.cookie.value }
    },
    comeBack: ({ cookie }, redirectUrl) =>
      flows.finishCallback({
        provider,
        query: new URL(redirectUrl).searchParams,
        cookie,
        caller: CALLER,
      }),
    async signIn(token, user, options) {
      const begun = await self.begin(token)
      const { redirectUrl } = await sandbox.authorize(begun.authorizeUrl, user, options)
      return self.comeBack(begun, redirectUrl)
    },
  }
  return self
}
