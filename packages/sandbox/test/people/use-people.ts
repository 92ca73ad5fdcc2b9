import { auth, people, type people_v1 } from '@googleapis/people'
import { beforeAll, beforeEach } from 'vitest'
import { googleIn } from '../../src/google/google.ts'
import type { People } from '../../src/people/people.ts'
import { type Answer, readAnswer } from '../read-answer.ts'
import { openValidation, type Validate } from '../published-types.ts'
import { type TestSandbox, useSandbox } from '../use-sandbox.ts'
import type { Answers } from './answers.ts'

export const CONTACTS = 'https://www.googleapis.com/auth/contacts'
export const READONLY = 'https://www.googleapis.com/auth/contacts.readonly'
export const NAMES = 'names,emailAddresses,metadata'

/** Google's own client, and plain calls, on the contacts of a sandbox. */
export interface TestPeople {
  readonly box: TestSandbox
  readonly people: People
  readonly origin: string
  token(user: string, scopes?: string[]): Promise<string>
  /** Google's client for a user. */
  client(user: string, scopes?: string[]): Promise<people_v1.Resource$People>
  /** Options of each call of the client, by which it reaches the sandbox. */
  readonly options: { rootUrl: string; retry: false; validateStatus: () => true }
  /** Adds a user without contacts. */
  addUser(): Promise<string>
  /** A call without a client. */
  ask(token: string, method: string, path: string, body?: unknown): Promise<Answer>
  /** The answer of a call, which succeeded and has only fields of Google's type. */
  checked<Name extends keyof Answers>(
    name: Name,
    call: Promise<{ status: number; data: unknown }>,
  ): Promise<Answers[Name]>
}

/** One sandbox for the tests of a file, which begins again before each. Quotas are off. */
export function usePeople(): TestPeople {
  const box = useSandbox()
  let validate: Validate<Answers> | undefined
  let users = 0
  const used: TestPeople = {
    box,
    get people() {
      return googleIn(box.sandbox.world).people
    },
    get origin() {
      return box.origin('people.googleapis.com')
    },
    get options() {
      return { rootUrl: `${used.origin}/`, retry: false as const, validateStatus: () => true as const }
    },
    async token(user, scopes = [CONTACTS]) {
      const { data } = await box.ask('POST', '/grants', { user, clientId: 'sandbox', scopes })
      return data.accessToken
    },
    async client(user, scopes) {
      const signedIn = new auth.OAuth2()
      signedIn.setCredentials({ access_token: await used.token(user, scopes) })
      return people({ version: 'v1', auth: signedIn }).people
    },
    async addUser() {
      users += 1
      const email = `user-${users}@gmail.test`
      await box.ask('POST', '/users', { email })
      return email
    },
    async ask(token, method, path, body) {
      return readAnswer(
        await fetch(new URL(`/v1/${path}`, used.origin), {
          method,
          headers: { authorization: `Bearer ${token}` },
          ...(body !== undefined && { body: JSON.stringify(body) }),
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
    used.people.configure({ quota: 'off' })
  })
  return used
}
