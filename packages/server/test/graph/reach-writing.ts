import type { Parsed } from '../../../sandbox/test/read-answer.ts'
import { newId } from '../../src/kit/ids.ts'
import { Secret } from '../../src/kit/secret.ts'
import type { ChangingProvider } from '../../src/providers/changing.ts'
import type { GraphApi } from '../../src/providers/graph/api.ts'
import { graphChanging } from '../../src/providers/graph/changing/changing.ts'
import { openGraphApi } from '../../src/providers/graph/client.ts'
import { GraphGovernor } from '../../src/providers/graph/governor.ts'
import type { GraphConnection } from '../../src/providers/graph/graph-connection.ts'
import { emptySeenState } from '../../src/providers/graph/seen-state.ts'
import { graphSending } from '../../src/providers/graph/sending.ts'
import { OwnSlots } from '../../src/providers/graph/slots.ts'
import { POLLED } from '../../src/providers/graph/subscription.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { SendingProvider } from '../../src/providers/sending.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { callsTo } from '../gmail/reach-sandbox.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { useServer } from '../servers/shared-server.ts'

export interface Office extends AsyncDisposable {
  server: SandboxServer
  email: string
  api: GraphApi
  changing: ChangingProvider
  sending: SendingProvider
  /** Asks Graph as another client of the user. */
  ask(method: string, path: string, json?: unknown): Promise<{ status: number; data: Parsed }>
  /** The source of a message. */
  mime(id: string): Promise<string>
  /** Messages of a folder, oldest first. */
  list(folder: string): Promise<Parsed[]>
  /** Adds a message that came from outside. @returns its id */
  deliver(raw: string): Promise<string>
  folderId(name: string): Promise<string>
}

const SCOPES = ['Mail.ReadWrite', 'Mail.Send']
const NO_QUOTA = 1e9

/** One sandbox for the tests of a file. @returns a function that adds a mailbox to it */
export function useOffices(): (cloud?: Cloud) => Promise<Office> {
  const sandbox = useServer(async () => {
    const server = await startSandbox()
    await server.control('PATCH', '/graph', { limits: 'off' })
    return server
  })
  return (cloud = 'global') => openOffice(sandbox(), cloud)
}

async function openOffice(server: SandboxServer, cloud: Cloud): Promise<Office> {
  const row = CLOUDS[cloud]
  const email = `${newId()}@${cloud}.test`
  await server.addUser(email, { provider: 'microsoft', cloud })
  const scopes = SCOPES.map(scope => `https://${row.graph}/${scope}`)
  const clientId = `writing-${cloud}`
  await server
    .addClient({ provider: 'microsoft', cloud, clientId, clientSecret: 's' })
    .catch(() => 'it is there already')
  const granted = await server.grant(email, scopes, clientId, { provider: 'microsoft', cloud })
  const token = new Secret(granted.accessToken)
  const calls = callsTo(server)
  const api = openGraphApi({
    calls,
    tokens: { get: () => Promise.resolve(token), renew: () => Promise.resolve(token) },
    quota: new GraphGovernor({ callsMax: NO_QUOTA }).quotaOf(email, new OwnSlots()),
    cloud: row,
    mailboxId: email,
    now: Date.now,
  })
  const connection: GraphConnection = {
    api,
    signal: new AbortController().signal,
    takesSources: false,
    subscribing: POLLED,
    seen: emptySeenState(),
    delegate: null,
  }
  const call = async (method: string, path: string, json?: unknown) => {
    const response = await fetch(`${server.origin(row.graph)}/v1.0/me/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${granted.accessToken}`,
        prefer: 'IdType="ImmutableId"',
        ...(json !== undefined && { 'content-type': 'application/json' }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    return { status: response.status, text: await response.text() }
  }
  const office: Office = {
    server,
    email,
    api,
    changing: graphChanging(connection),
    sending: graphSending(connection),
    async ask(method, path, json) {
      const { status, text } = await call(method, path, json)
      return { status, data: text === '' ? undefined : JSON.parse(text) }
    },
    mime: async id => (await call('GET', `messages/${encodeURIComponent(id)}/$value`)).text,
    async list(folder) {
      const path = `mailFolders/${folder}/messages?$top=100&$orderby=receivedDateTime`
      return (await office.ask('GET', path)).data.value
    },
    async deliver(raw) {
      const before = new Set((await office.list('inbox')).map(({ id }) => id))
      await server.deliver(email, raw)
      return (await office.list('inbox')).find(({ id }) => !before.has(id)).id
    },
    folderId: async name => (await office.ask('GET', `mailFolders/${name}`)).data.id,
    [Symbol.asyncDispose]: () => calls[Symbol.asyncDispose](),
  }
  return office
}
