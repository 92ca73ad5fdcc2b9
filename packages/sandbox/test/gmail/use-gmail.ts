import { auth, gmail, type gmail_v1 } from '@googleapis/gmail'
import { beforeAll, beforeEach } from 'vitest'
import { type Google, googleIn } from '../../src/google/google.ts'
import type { Sandbox } from '../../src/open-sandbox.ts'
import { requireUser } from '../../src/world/users.ts'
import { type Answer, readAnswer } from '../read-answer.ts'
import { openValidation, type Validate } from '../published-types.ts'
import { useSandbox } from '../use-sandbox.ts'
import type { Answers } from './answers.ts'

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

const ME = '/gmail/v1/users/me/'

/** One sandbox for the tests of a file, which begins again before each. Quotas are off. */
export function useGmail(): TestGmail {
  const box = useSandbox()
  let validate: Validate<Answers> | undefined
  const used: TestGmail = {
    get sandbox() {
      return box.sandbox
    },
    get google() {
      return googleIn(box.sandbox.world)
    },
    get origin() {
      return box.origin('gmail.googleapis.com')
    },
    get options() {
      return { rootUrl: `${used.origin}/`, retry: false as const, validateStatus: () => true as const }
    },
    async token(user, scopes = [MAIL], clientId = 'sandbox') {
      const { data } = await box.ask('POST', '/grants', { user, clientId, scopes })
      return data.accessToken
    },
    async client(user, scopes) {
      const signedIn = new auth.OAuth2()
      signedIn.setCredentials({ access_token: await used.token(user, scopes) })
      return gmail({ version: 'v1', auth: signedIn })
    },
    deliver(user, message) {
      const found = requireUser(box.sandbox.world.users, user)
      return used.google.gmail.receive(found, { message, from: null })
    },
    async ask(token, method, path, body, headers = {}) {
      return readAnswer(
        await fetch(new URL(path.startsWith('/') ? path : ME + path, used.origin), {
          method,
          headers: { authorization: `Bearer ${token}`, ...headers },
          ...(body !== undefined && { body: body instanceof Buffer ? body : JSON.stringify(body) }),
        }),
      )
    },
    async checked(name, call) {
      const { status, data } = await call
      if (status !== 200) throw new Error(`${name}: ${status} ${JSON.stringify(data)}`)
      validate?.(name, data)
      return data as Answers[typeof name]
    },
  }
  beforeAll(() => {
    validate = openValidation<Answers>(new URL('./answers.ts', import.meta.url))
  })
  beforeEach(() => {
    used.google.gmail.configure({ quota: 'off' })
  })
  return used
}

export const rawOf = (message: Buffer): string => message.toString('base64url')
