import type { Client } from '@microsoft/microsoft-graph-client'
import { beforeEach } from 'vitest'
import { type Cloud, cloudOf } from '../../src/microsoft/clouds.ts'
import type { Sandbox } from '../../src/open-sandbox.ts'
import { requireUser } from '../../src/world/users.ts'
import { type Answer, type Parsed, readAnswer } from '../read-answer.ts'
import { letter } from '../letter.ts'
import { useSandbox } from '../use-sandbox.ts'
import { IMMUTABLE, openClient } from './client.ts'

export const EVA = 'eva@office.test'
export const FINN = 'finn@office.test'
export const DESK = 'desk@office.test'
export const ADA = 'ada@gmail.test'

const SCOPES = [
  'Mail.ReadWrite',
  'Mail.Send',
  'Mail.ReadWrite.Shared',
  'Mail.Send.Shared',
  'Contacts.ReadWrite',
  'Calendars.ReadWrite',
  'User.Read',
]

const SEED = {
  random: 1,
  users: [
    { email: EVA, name: 'Eva Lindqvist', provider: 'microsoft' },
    { email: FINN, name: 'Finn Okoye', provider: 'microsoft' },
    { email: DESK, name: 'Front Desk', provider: 'microsoft', delegates: [EVA] },
    { email: 'hugo@agency.test', provider: 'microsoft', cloud: 'gcc-high' },
    { email: 'jun@shanghai.test', provider: 'microsoft', cloud: 'china' },
    { email: ADA, provider: 'google' },
  ],
  clients: [
    ...['global', 'gcc-high', 'china'].map(cloud => ({
      provider: 'microsoft',
      cloud,
      clientId: 'sandbox',
      clientSecret: 's',
    })),
    { provider: 'google', clientId: 'sandbox', clientSecret: 's' },
  ],
}

/** A sandbox with its sign-in, reached by HTTP alone. */
export interface Office {
  readonly sandbox: Sandbox
  /** Calls the control API. */
  control(method: string, path: string, body?: unknown): Promise<Answer>
  token(user: string, scopes?: string[]): Promise<string>
  /** A call of a user of Graph. `path` is below /v1.0/me/, or begins with a slash. */
  ask(
    user: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  /** Reads a message's MIME. */
  mime(user: string, id: string): Promise<string>
  /** Messages of a folder, newest first. */
  list(user: string, folder: string, select?: string): Promise<Parsed[]>
  /** Microsoft's own client. */
  client(user: string): Promise<Client>
}

/** One sandbox for the tests of a file, which begins again before each. Limits are off. */
export function useOffice(): Office {
  const used = useSandbox({ seed: SEED })
  const tokens = new Map<string, string>()
  const cloud = (user: string): Cloud => cloudOf(requireUser(used.sandbox.world.users, user))
  const office: Office = {
    get sandbox() {
      return used.sandbox
    },
    control: used.ask,
    async token(user, scopes = SCOPES) {
      const key = [user, ...scopes].join(' ')
      const known = tokens.get(key)
      if (known) return known
      const named = scopes.map(scope => `https://${cloud(user).graphHost}/${scope}`)
      const { data } = await office.control('POST', '/grants', { user, clientId: 'sandbox', scopes: named })
      tokens.set(key, data.accessToken)
      return data.accessToken
    },
    async ask(user, method, path, body, headers = {}) {
      const url = new URL(
        path.startsWith('/') ? path : `/v1.0/me/${path}`,
        used.origin(cloud(user).graphHost),
      )
      return readAnswer(
        await fetch(url, {
          method,
          headers: {
            authorization: `Bearer ${await office.token(user)}`,
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      )
    },
    async mime(user, id) {
      const { status, data } = await office.ask(user, 'GET', `messages/${id}/$value`)
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(data)}`)
      return data
    },
    async list(user, folder, select = 'subject,isDraft,isRead,internetMessageId,from,toRecipients') {
      const path = `mailFolders/${folder}/messages?$top=100&$select=${select}`
      const { status, data } = await office.ask(user, 'GET', path, undefined, IMMUTABLE)
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(data)}`)
      return data.value
    },
    client: async user => openClient(cloud(user), await office.token(user), used.origin),
  }
  beforeEach(async () => {
    tokens.clear()
    await office.control('PATCH', '/graph', { limits: 'off' })
  })
  return office
}

/** A message of these headers as Graph takes MIME. */
export function mimeOf(headers: Record<string, string>, body = 'Hello'): string {
  return letter(headers, body).toString('base64')
}

export const TEXT = { 'content-type': 'text/plain', ...IMMUTABLE }
export const to = (address: string): object => ({ emailAddress: { address } })
