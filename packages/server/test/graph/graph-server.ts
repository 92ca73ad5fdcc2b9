import { listen } from '../../../sandbox/src/hosting/listen.ts'
import { type CloudName, CLOUDS as PLAYED, cloudOf } from '../../../sandbox/src/microsoft/clouds.ts'
import { serveBatch } from '../../../sandbox/src/microsoft/graph/batch.ts'
import { type GraphMail, openGraphMail } from '../../../sandbox/src/microsoft/graph/mail.ts'
import type { Mailbox } from '../../../sandbox/src/microsoft/mailbox/mailbox.ts'
import { type Clock, openClock } from '../../../sandbox/src/world/clock.ts'
import { openRandom } from '../../../sandbox/src/world/random.ts'
import type { User } from '../../../sandbox/src/world/users.ts'
import { parseEgressAllow } from '../../src/kit/egress/allow-list.ts'
import { egressGuard } from '../../src/kit/egress/guard.ts'
import { newId } from '../../src/kit/ids.ts'
import { Secret } from '../../src/kit/secret.ts'
import { graphAccount, type GraphAccountOptions } from '../../src/providers/graph/account.ts'
import { GraphGovernor } from '../../src/providers/graph/governor.ts'
import { OwnSlots } from '../../src/providers/graph/slots.ts'
import { ProviderCalls } from '../../src/providers/http/provider-calls.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'

/** A call as the server got it. */
export interface GraphCall {
  method: string
  path: string
  headers: Headers
}

/** The sandbox's Graph behind HTTP, without sign-in: the token of a user is the address. */
export interface GraphServer extends AsyncDisposable {
  readonly mail: GraphMail
  readonly clock: Clock
  /** The calls so far, parts of batches among them. */
  readonly calls: GraphCall[]
  /** Called with each call; an answer takes the place of Graph's. */
  intercept: ((call: GraphCall) => Response | null | Promise<Response | null>) | null
  addUser(cloud?: Cloud): { email: string; mailbox: Mailbox }
  connect(email: string, options?: Partial<GraphAccountOptions>): ReturnType<typeof graphAccount>
}

const SCOPES = [
  'Mail.ReadWrite',
  'Mail.Send',
  'Contacts.ReadWrite',
  'Calendars.ReadWrite',
  'MailboxSettings.ReadWrite',
]

export async function startGraph(): Promise<GraphServer> {
  const clock = openClock()
  const post = { findUser: () => null, isLocal: () => false, deliver: () => ({}) }
  const mail = openGraphMail({ clock, random: openRandom(1), post } as unknown as Parameters<
    typeof openGraphMail
  >[0])
  const users = new Map<string, User>()
  const calls: GraphCall[] = []
  const serve = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    const call = { method: request.method, path: `${pathname}${search}`, headers: request.headers }
    calls.push(call)
    const answer = await server.intercept?.(call)
    if (answer) return answer
    const user = users.get((request.headers.get('authorization') ?? '').slice('Bearer '.length))
    if (!user) return Response.json({ error: { code: 'InvalidAuthenticationToken' } }, { status: 401 })
    if (pathname === '/v1.0/$batch') return Response.json(await serveBatch(request, serve, openRandom(1)))
    const [, owner = '', path = ''] = /^\/v1\.0\/users\/([^/]+)\/(.*)$/.exec(pathname) ?? []
    const whose = users.get(decodeURIComponent(owner)) ?? user
    const caller = { user, client: { clientId: 'app' }, cloud: cloudOf(user), scopes: SCOPES, roles: [] }
    return mail.serve(caller as unknown as Parameters<GraphMail['serve']>[0], whose, path, request)
  }
  const listening = await listen(serve, 0, '127.0.0.1')
  const origin = new URL(`http://127.0.0.1:${listening.port}`)
  const provider = new ProviderCalls({
    guard: egressGuard({ allow: parseEgressAllow([]) }),
    authorities: undefined,
    standIns: new Map(Object.values(PLAYED).map(({ graphHost }) => [graphHost, origin])),
  })
  const governor = new GraphGovernor({ callsMax: 1e9 })
  const server: GraphServer = {
    mail,
    clock,
    calls,
    intercept: null,
    addUser(cloud = 'global') {
      const email = `${newId()}@office.test`
      const user: User = {
        id: newId(),
        email,
        name: 'Eva',
        provider: 'microsoft',
        cloud: cloud as CloudName,
        organization: 'office.test',
        suspended: false,
        delegates: [],
      }
      users.set(email, user)
      mail.addUser(user, 0)
      return { email, mailbox: mail.mailboxOf(user) }
    },
    connect(email, options = {}) {
      const cloud = CLOUDS[(users.get(email)?.cloud ?? 'global') as Cloud]
      const token = new Secret(email)
      return graphAccount({
        calls: provider,
        tokens: { get: () => Promise.resolve(token), renew: () => Promise.resolve(token) },
        quotaOf: mailboxId => governor.quotaOf(mailboxId, new OwnSlots()),
        cloud,
        mailboxId: email,
        signal: new AbortController().signal,
        pollSeconds: 0.1,
        ...options,
      })
    },
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]()
      await listening[Symbol.asyncDispose]()
    },
  }
  return server
}
