import { AuthenticationHandler, Client, type Context } from '@microsoft/microsoft-graph-client'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { openSandbox, type Sandbox } from '../../src/open-sandbox.ts'

export const IMMUTABLE = { prefer: 'IdType="ImmutableId"' }
export const EVA = 'eva@office.test'
export const FINN = 'finn@office.test'
export const DESK = 'desk@office.test'
export const ADA = 'ada@gmail.test'

const SCOPES = ['Mail.ReadWrite', 'Mail.Send', 'Mail.ReadWrite.Shared', 'Mail.Send.Shared', 'User.Read']

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

export interface Answer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
  data: any
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
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
  list(user: string, folder: string, select?: string): Promise<any[]>
  /** Microsoft's own client. */
  client(user: string): Promise<Client>
}

const GRAPH_HOSTS: Readonly<Record<string, string>> = {
  'agency.test': 'graph.microsoft.us',
  'shanghai.test': 'microsoftgraph.chinacloudapi.cn',
}

/** One sandbox for the tests of a file, which begins again before each. Limits are off. */
export function useOffice(): Office {
  let open: Sandbox | undefined
  const tokens = new Map<string, string>()
  const sandbox = () => {
    if (!open) throw new Error('the sandbox runs only while tests do')
    return open
  }
  const graphHost = (user: string) => GRAPH_HOSTS[user.slice(user.indexOf('@') + 1)] ?? 'graph.microsoft.com'
  const office: Office = {
    get sandbox() {
      return sandbox()
    },
    async control(method, path, body) {
      return answerOf(
        await fetch(`${sandbox().controlUrl}${path}`, {
          method,
          ...(body !== undefined && {
            body: body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body),
          }),
        }),
      )
    },
    async token(user, scopes = SCOPES) {
      const key = [user, ...scopes].join(' ')
      const known = tokens.get(key)
      if (known) return known
      const named = scopes.map(scope => `https://${graphHost(user)}/${scope}`)
      const { data } = await office.control('POST', '/grants', { user, clientId: 'sandbox', scopes: named })
      tokens.set(key, data.accessToken)
      return data.accessToken
    },
    async ask(user, method, path, body, headers = {}) {
      const url = new URL(path.startsWith('/') ? path : `/v1.0/me/${path}`, sandbox().hosts[graphHost(user)])
      return answerOf(
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
    async client(user) {
      const token = await office.token(user)
      const authentication = new AuthenticationHandler({ getAccessToken: () => Promise.resolve(token) })
      authentication.setNext({
        async execute(context: Context) {
          const { host, pathname, search } = new URL(String(context.request))
          const url = new URL(pathname + search, sandbox().hosts[host])
          context.response = await fetch(url, context.options)
        },
      })
      return Client.initWithMiddleware({
        middleware: authentication,
        baseUrl: `https://${graphHost(user)}/`,
        customHosts: new Set([graphHost(user)]),
      })
    },
  }
  beforeAll(async () => {
    open = await openSandbox({ seed: SEED })
  })
  beforeEach(async () => {
    tokens.clear()
    await office.control('POST', '/reset')
    await office.control('PATCH', '/graph', { limits: 'off' })
  })
  afterAll(async () => open?.[Symbol.asyncDispose]())
  return office
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return { status: response.status, headers: response.headers, data: isJson ? JSON.parse(text) : text }
}

/** A message of these headers as Graph takes MIME. */
export function mimeOf(headers: Record<string, string>, body = 'Hello'): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from([...lines, '', body, ''].join('\r\n')).toString('base64')
}

export const TEXT = { 'content-type': 'text/plain', ...IMMUTABLE }
export const to = (address: string): object => ({ emailAddress: { address } })
