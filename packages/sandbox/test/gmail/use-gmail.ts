import { auth, gmail, type gmail_v1 } from '@googleapis/gmail'
import { beforeEach } from 'vitest'
import type { Google } from '../../src/google/google.ts'
import type { Sandbox } from '../../src/open-sandbox.ts'
import { requireUser } from '../../src/world/users.ts'
import { type TestGoogleApi, useGoogleApi } from '../use-google-api.ts'
import type { Answers } from './answers.ts'

export const MAIL = 'https://mail.google.com/'
export const gmailScope = (name: string): string => `https://www.googleapis.com/auth/gmail.${name}`

/** Google's own client, and plain calls, on the Gmail of a sandbox. */
export interface TestGmail extends Pick<TestGoogleApi<Answers>, 'origin' | 'options' | 'ask' | 'checked'> {
  readonly sandbox: Sandbox
  readonly google: Google
  token(user: string, scopes?: string[], clientId?: string): Promise<string>
  /** Google's client for a user. */
  client(user: string, scopes?: string[]): Promise<gmail_v1.Gmail>
  /** Delivers a message from outside. */
  deliver(user: string, message: Buffer): { id: string; threadId: string }
}

const ME = '/gmail/v1/users/me/'

/** One sandbox for the tests of a file, which begins again before each. Quotas are off. */
export function useGmail(): TestGmail {
  const api = useGoogleApi<Answers>('gmail.googleapis.com', new URL('./answers.ts', import.meta.url))
  const used: TestGmail = {
    checked: api.checked,
    get sandbox() {
      return api.box.sandbox
    },
    get google() {
      return api.google
    },
    get origin() {
      return api.origin
    },
    get options() {
      return api.options
    },
    token: (user, scopes = [MAIL], clientId = 'sandbox') => api.token(user, scopes, clientId),
    async client(user, scopes) {
      const signedIn = new auth.OAuth2()
      signedIn.setCredentials({ access_token: await used.token(user, scopes) })
      return gmail({ version: 'v1', auth: signedIn })
    },
    deliver(user, message) {
      const found = requireUser(used.sandbox.world.users, user)
      return used.google.gmail.receive(found, { message, from: null })
    },
    ask: (token, method, path, body, headers) =>
      api.ask(token, method, path.startsWith('/') ? path : ME + path, body, headers),
  }
  beforeEach(() => {
    used.google.gmail.configure({ quota: 'off' })
  })
  return used
}

export const rawOf = (message: Buffer): string => message.toString('base64url')
