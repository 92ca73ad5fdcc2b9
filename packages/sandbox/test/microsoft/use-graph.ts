import type { Client } from '@microsoft/microsoft-graph-client'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { listen, type Listening } from '../../src/hosting/listen.ts'
import { cloudOf } from '../../src/microsoft/clouds.ts'
import { serveBatch } from '../../src/microsoft/graph/batch.ts'
import { errorResponse, GraphRefusal } from '../../src/microsoft/graph/errors.ts'
import { type GraphMail, openGraphMail } from '../../src/microsoft/graph/mail.ts'
import type { Mailbox } from '../../src/microsoft/mailbox/mailbox.ts'
import { type Clock, openClock } from '../../src/world/clock.ts'
import { openRandom } from '../../src/world/random.ts'
import type { User } from '../../src/world/users.ts'
import { type Answer, type Parsed, readAnswer } from '../read-answer.ts'
import { openClient } from './client.ts'

const SCOPES = ['Mail.ReadWrite', 'Contacts.ReadWrite', 'Calendars.ReadWrite', 'MailboxSettings.ReadWrite']

/** Graph's mail behind HTTP, without sign-in: a token is the address of its user, and the scopes behind it. */
export interface TestGraph {
  readonly mail: GraphMail
  readonly clock: Clock
  addUser(email: string, messages?: number, cloud?: string): User
  mailbox(user: User): Mailbox
  /** Microsoft's own client for a user. It calls the hosts of the user's cloud, which are exchanged on the way. */
  client(user: User, scopes?: string[]): Client
  /** A call without a client: `path` is below /v1.0/me/, or a whole link. */
  ask(
    user: User,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    scopes?: string[],
  ): Promise<Answer>
  /** All pages of a delta query from a path or link, and the link at their end. */
  deltaFrom(
    user: User,
    start: string,
    headers?: Record<string, string>,
  ): Promise<{ items: Parsed[]; link: string; pages: number }>
}

export function useGraph(): TestGraph {
  let listening: Listening | undefined
  let clock = openClock()
  let mail = openMail(clock)
  const users = new Map<string, User>()
  const serve = async (request: Request): Promise<Response> => {
    const [email = '', ...scopes] = (request.headers.get('authorization') ?? '').slice(7).split(' ')
    const user = users.get(email)
    if (!user) return Response.json({ error: { code: 'InvalidAuthenticationToken' } }, { status: 401 })
    const { pathname } = new URL(request.url)
    if (pathname === '/v1.0/$batch') return batch(request)
    const [, owner = '', path = ''] = /^\/v1\.0\/(me|users\/[^/]+)\/(.*)$/.exec(pathname) ?? []
    const client = { clientId: 'app' } as Parameters<GraphMail['serve']>[0]['client']
    const tenant = {} as Parameters<GraphMail['serve']>[0]['tenant']
    const cloud = cloudOf(user)
    const whose = owner === 'me' ? user : (users.get(decodeURIComponent(owner.slice(6))) ?? user)
    return mail.serve({ user, client, tenant, cloud, scopes, roles: [] }, whose, path, request)
  }
  const batch = async (request: Request): Promise<Response> => {
    try {
      return Response.json(await serveBatch(request, serve, openRandom(1)))
    } catch (error) {
      if (!(error instanceof GraphRefusal)) throw error
      return errorResponse(error, { at: clock.now(), requestId: 'batch', clientRequestId: null })
    }
  }
  const origin = () => `http://127.0.0.1:${listening?.port}`
  const used: TestGraph = {
    get mail() {
      return mail
    },
    get clock() {
      return clock
    },
    addUser(email, messages = 0, cloud = 'global') {
      const organization = email.slice(email.indexOf('@') + 1)
      const name = email.slice(0, email.indexOf('@'))
      const user = {
        id: `id-${email}`,
        email,
        name,
        provider: 'microsoft',
        cloud,
        organization,
        suspended: false,
        delegates: [],
      }
      users.set(email, user)
      mail.addUser(user, messages)
      return user
    },
    mailbox: user => mail.mailboxOf(user),
    client: (user, scopes = SCOPES) => openClient(cloudOf(user), [user.email, ...scopes].join(' '), origin),
    async ask(user, method, path, body, headers = {}, scopes = SCOPES) {
      const url = path.startsWith('https://') ? new URL(path) : new URL(`/v1.0/me/${path}`, origin())
      if (path.startsWith('https://') && url.host !== cloudOf(user).graphHost)
        throw new Error(`a link leads to ${url.host}`)
      return readAnswer(
        await fetch(new URL(url.pathname + url.search, origin()), {
          method,
          headers: {
            authorization: `Bearer ${[user.email, ...scopes].join(' ')}`,
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      )
    },
    async deltaFrom(user, start, headers) {
      const items = []
      let link = start
      for (let pages = 1; ; pages += 1) {
        const { status, data } = await used.ask(user, 'GET', link, undefined, headers)
        if (status !== 200) throw new Error(`${status} ${JSON.stringify(data)}`)
        items.push(...data.value)
        link = data['@odata.nextLink'] ?? data['@odata.deltaLink']
        if (data['@odata.nextLink'] === undefined) return { items, link, pages }
      }
    },
  }
  beforeAll(async () => {
    listening = await listen(serve, 0, '127.0.0.1')
  })
  beforeEach(() => {
    users.clear()
    clock = openClock()
    mail = openMail(clock)
  })
  afterAll(async () => listening?.[Symbol.asyncDispose]())
  return used
}

function openMail(clock: Clock): GraphMail {
  const post = { findUser: () => null, isLocal: () => false, deliver: () => ({}) }
  return openGraphMail({ clock, random: openRandom(1), post })
}
