import { auth, gmail, type gmail_v1 } from '@googleapis/gmail'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { type Google, googleIn } from '../../src/google/google.ts'
import { openSandbox, type Sandbox } from '../../src/open-sandbox.ts'
import { requireUser } from '../../src/world/users.ts'
import type { Answers } from './answers.ts'
import { openValidation, type Validate } from './schemas.ts'

export const MAIL = 'https://mail.google.com/'
export const gmailScope = (name: string): string => `https://www.googleapis.com/auth/gmail.${name}`

/** Google's own client, and plain calls, on the Gmail of a sandbox. */
export interface TestGmail {
  readonly sandbox: Sandbox
  readonly google: Google
  readonly origin: string
  token(user: string, scopes?: string[], clientId?: string): Promise<string>
  /** Google's client for a user. */
  client(user: string, scopes?: string[]): Promise<gmail_v1.Gmail>
  /** Options of each call of the client, by which it reaches the sandbox. */
  readonly options: { rootUrl: string; retry: false; validateStatus: () => true }
  /** Delivers a message from outside. */
  deliver(user: string, message: Buffer): { id: string; threadId: string }
  /** A call without a client. */
  ask(
    token: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  /** The answer of a call, which succeeded and has only fields of Google's type. */
  checked<Name extends keyof Answers>(
    name: Name,
    call: Promise<{ status: number; data: unknown }>,
  ): Promise<Answers[Name]>
}

export interface Answer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
  data: any
}

const ME = '/gmail/v1/users/me/'

/** One sandbox for the tests of a file, which begins again before each. Quotas are off. */
export function useGmail(): TestGmail {
  let open: Sandbox | undefined
  let validate: Validate | undefined
  const sandbox = (): Sandbox => {
    if (!open) throw new Error('the sandbox runs only while tests do')
    return open
  }
  const used: TestGmail = {
    get sandbox() {
      return sandbox()
    },
    get google() {
      return googleIn(sandbox().world)
    },
    get origin() {
      return sandbox().hosts['gmail.googleapis.com'] ?? ''
    },
    get options() {
      return { rootUrl: `${used.origin}/`, retry: false as const, validateStatus: () => true as const }
    },
    async token(user, scopes = [MAIL], clientId = 'sandbox') {
      const response = await fetch(`${sandbox().controlUrl}/grants`, {
        method: 'POST',
        body: JSON.stringify({ user, clientId, scopes }),
      })
      const { accessToken } = (await response.json()) as { accessToken: string }
      return accessToken
    },
    async client(user, scopes) {
      const signedIn = new auth.OAuth2()
      signedIn.setCredentials({ access_token: await used.token(user, scopes) })
      return gmail({ version: 'v1', auth: signedIn })
    },
    deliver(user, message) {
      const found = requireUser(sandbox().world.users, user)
      return used.google.gmail.receive(found, { message, from: null })
    },
    async ask(token, method, path, body, headers = {}) {
      const response = await fetch(new URL(path.startsWith('/') ? path : ME + path, used.origin), {
        method,
        headers: { authorization: `Bearer ${token}`, ...headers },
        ...(body !== undefined && { body: body instanceof Buffer ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json')
      return { status: response.status, headers: response.headers, data: isJson ? JSON.parse(text) : text }
    },
    async checked(name, call) {
      const { status, data } = await call
      if (status !== 200) throw new Error(`${name}: ${status} ${JSON.stringify(data)}`)
      validate?.(name, data)
      return data as Answers[typeof name]
    },
  }
  beforeAll(async () => {
    open = await openSandbox()
    validate = openValidation()
  })
  beforeEach(async () => {
    await fetch(`${sandbox().controlUrl}/reset`, { method: 'POST' })
    used.google.gmail.configure({ quota: 'off' })
  })
  afterAll(async () => open?.[Symbol.asyncDispose]())
  return used
}

/** A small message of these headers. */
export function letter(headers: Record<string, string>, body = 'Hello'): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from([...lines, '', body, ''].join('\r\n'))
}

export const rawOf = (message: Buffer): string => message.toString('base64url')
