import { auth, people, type people_v1 } from '@googleapis/people'
import { beforeEach } from 'vitest'
import type { People } from '../../src/people/people.ts'
import type { Answer } from '../read-answer.ts'
import { type TestGoogleApi, useGoogleApi } from '../use-google-api.ts'
import type { Answers } from './answers.ts'

export const CONTACTS = 'https://www.googleapis.com/auth/contacts'
export const READONLY = 'https://www.googleapis.com/auth/contacts.readonly'
export const NAMES = 'names,emailAddresses,metadata'

/** Google's own client, and plain calls, on the contacts of a sandbox. */
export interface TestPeople extends Pick<TestGoogleApi<Answers>, 'box' | 'origin' | 'options' | 'checked'> {
  readonly people: People
  token(user: string, scopes?: string[]): Promise<string>
  /** Google's client for a user. */
  client(user: string, scopes?: string[]): Promise<people_v1.Resource$People>
  /** Adds a user without contacts. */
  addUser(): Promise<string>
  /** A call without a client. */
  ask(token: string, method: string, path: string, body?: unknown): Promise<Answer>
}

/** One sandbox for the tests of a file, which begins again before each. Quotas are off. */
export function usePeople(): TestPeople {
  const api = useGoogleApi<Answers>('people.googleapis.com', new URL('./answers.ts', import.meta.url))
  let users = 0
  const used: TestPeople = {
    box: api.box,
    checked: api.checked,
    get people() {
      return api.google.people
    },
    get origin() {
      return api.origin
    },
    get options() {
      return api.options
    },
    token: (user, scopes = [CONTACTS]) => api.token(user, scopes),
    async client(user, scopes) {
      const signedIn = new auth.OAuth2()
      signedIn.setCredentials({ access_token: await used.token(user, scopes) })
      return people({ version: 'v1', auth: signedIn }).people
    },
    async addUser() {
      users += 1
      const email = `user-${users}@gmail.test`
      await api.box.ask('POST', '/users', { email })
      return email
    },
    ask: (token, method, path, body) => api.ask(token, method, `/v1/${path}`, body),
  }
  beforeEach(() => {
    used.people.configure({ quota: 'off' })
  })
  return used
}
