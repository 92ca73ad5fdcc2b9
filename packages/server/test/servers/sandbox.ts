import { googleIn } from '../../../sandbox/src/google/google.ts'
import { openSandbox, type SandboxOptions } from '../../../sandbox/src/open-sandbox.ts'
import type { Call } from '../../../sandbox/src/world/calls.ts'

export type { Call as SandboxCall }

/** Names and fields as the control API of the sandbox has them; see docs/sandbox.md. */
type Json = Record<string, unknown>

export interface SandboxServer extends AsyncDisposable {
  readonly controlUrl: string
  /** Origin of each provider host. */
  readonly hosts: Readonly<Record<string, string>>
  origin(host: string): string
  /** Begins again: with the seed that the sandbox was started with, unless another is given. */
  reset(seed?: Json): Promise<void>
  addUser(email: string, options?: UserOptions): Promise<void>
  changeUser(
    email: string,
    changes: { suspended?: boolean; passwordChanged?: true; delegates?: readonly string[] },
  ): Promise<void>
  addClient(client: Json): Promise<void>
  /** Delivers a message from outside; lines must end in CRLF. */
  deliver(email: string, message: string | Uint8Array): Promise<{ id: string; threadId: string }>
  grant(
    user: string,
    scopes: readonly string[],
    clientId?: string,
    at?: { provider?: string; cloud?: string },
  ): Promise<{ accessToken: string; refreshToken: string }>
  /** Signs in and answers the consent page at an authorize URL, in place of a person. Without `scopes` all are allowed. */
  authorize(
    url: string,
    user: string,
    options?: { scopes?: readonly string[]; deny?: boolean | 'admin_required' },
  ): Promise<{ redirectUrl: string }>
  /** Returns the id of the fault. */
  addFault(rule: Json): Promise<number>
  clearFaults(): Promise<void>
  /** `at` is the kind of link to expire, at a provider that has several. */
  expireHistory(user?: string, at?: 'next' | 'delta'): Promise<void>
  /** Settings are Google's, unless they name another `provider`. */
  configurePushes(settings: Json): Promise<Json>
  /** Calls a route of the control API. */
  control<T = unknown>(method: string, path: string, body?: unknown): Promise<T>
  turnClock(seconds: number): Promise<void>
  /** Signs claims with the keys by which the sandbox's Google signs. */
  sign(claims: Json): Promise<string>
  calls(filter?: Record<string, string | number>): Promise<{ items: Call[]; units: number }>
}

export interface UserOptions {
  name?: string
  messages?: number
  /** By default Google. */
  provider?: string
  /** By default the provider's first. */
  cloud?: string
  /** Addresses of the users who may open the mailbox. */
  delegates?: readonly string[]
}

const DEFAULT_CLIENT = 'sandbox'

/** Starts a sandbox in this process, on free ports, and drives it by its control API. */
export async function startSandbox(options: SandboxOptions = {}): Promise<SandboxServer> {
  const sandbox = await openSandbox(options)
  return {
    ...driveSandbox(sandbox),
    sign: claims => googleIn(sandbox.world).keys.sign(claims),
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  }
}

/** A sandbox that runs wherever it may. */
export type DrivenSandbox = Omit<SandboxServer, 'sign' | typeof Symbol.asyncDispose>

/** Drives a running sandbox by its control API. */
export function driveSandbox({
  controlUrl,
  hosts,
}: Pick<SandboxServer, 'controlUrl' | 'hosts'>): DrivenSandbox {
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const response = await fetch(`${controlUrl}${path}`, {
      method,
      ...(body !== undefined && { body: isRaw ? (body as string) : JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  return {
    controlUrl,
    hosts,
    origin(host) {
      const origin = hosts[host]
      if (origin === undefined) throw new Error(`the sandbox does not play ${host}`)
      return origin
    },
    reset: seed => ask('POST', '/reset', seed),
    addUser: (email, given) => ask('POST', '/users', { email, ...given }),
    changeUser: (email, changes) => ask('PATCH', `/users/${email}`, changes),
    addClient: client => ask('POST', '/clients', client),
    deliver: (email, message) => ask('POST', `/users/${email}/messages`, message),
    grant: (user, scopes, clientId = DEFAULT_CLIENT, at = {}) =>
      ask('POST', '/grants', { user, scopes, clientId, ...at }),
    authorize: (url, user, given) => ask('POST', '/authorizations', { url, user, ...given }),
    addFault: async rule => (await ask<{ id: number }>('POST', '/faults', rule)).id,
    clearFaults: () => ask('DELETE', '/faults'),
    expireHistory: (user, at) => ask('POST', '/history/expire', { user, at }),
    configurePushes: settings => ask('PATCH', '/pushes', settings),
    control: ask,
    turnClock: seconds => ask('POST', '/clock', { advanceSeconds: seconds }),
    calls: (filter = {}) =>
      ask(
        'GET',
        `/calls?${new URLSearchParams(Object.entries(filter).map(([key, value]) => [key, String(value)] as [string, string]))}`,
      ),
  }
}
