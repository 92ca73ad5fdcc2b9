import { fileURLToPath } from 'node:url'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { listen } from '../../../sandbox/src/hosting/listen.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { type CrashableService, openCrashableService } from '../sending/crashable-service.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'

const PROGRAM = fileURLToPath(new URL('quick-graph-service.ts', import.meta.url))
const CLIENT = { id: 'sandbox', secret: 'sandbox-secret' }
const SCOPES = ['openid', 'profile', 'email', 'offline_access', 'User.Read', 'Mail.ReadWrite', 'Mail.Send']

/** An account of the service, and another client of its mailbox. */
export interface KillableAccount {
  accountId: string
  path: string
  email: string
  client: GraphClient
}

/** The service that may be killed, with the sandbox's Graph, which pushes to an address that outlives the service. */
export interface KillableGraph extends CrashableService {
  sandbox: SandboxServer
  /** Adds a mailbox, arranges it, and connects it. */
  connect(
    email: string,
    cloud: Cloud,
    arrange: (client: GraphClient) => Promise<void>,
  ): Promise<KillableAccount>
}

/** Passes a push on to the service; 502 if it is down. */
async function passOn(request: Request, address: string | undefined): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  try {
    const body = await request.arrayBuffer()
    const answer = await fetch(new URL(pathname + search, address), { method: request.method, headers, body })
    const type = { 'content-type': answer.headers.get('content-type') ?? '' }
    return new Response(await answer.arrayBuffer(), { status: answer.status, headers: type })
  } catch {
    return new Response(null, { status: 502 })
  }
}

export async function openKillableGraph(): Promise<KillableGraph> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandbox())
  let service: CrashableService | null = null
  const pushes = opened.use(await listen(request => passOn(request, service?.address()), 0, '127.0.0.1'))
  const env = {
    WAXWING_SANDBOX_URL: sandbox.controlUrl,
    WAXWING_BASE_URL: `http://127.0.0.1:${pushes.port}`,
    WAXWING_MICROSOFT_CLIENT_ID: CLIENT.id,
    WAXWING_MICROSOFT_CLIENT_SECRET: CLIENT.secret,
    WAXWING_MICROSOFT_CHINA_CLIENT_ID: CLIENT.id,
    WAXWING_MICROSOFT_CHINA_CLIENT_SECRET: CLIENT.secret,
  }
  service = opened.use(await openCrashableService({ env, program: PROGRAM }))
  const { caller } = service
  const owned = opened.move()
  return {
    ...service,
    sandbox,
    async connect(email, cloud, arrange) {
      await sandbox.addUser(email, { messages: 0, provider: 'microsoft', cloud })
      const client = await openGraphClient(sandbox, email, { cloud, host: CLOUDS[cloud].graph })
      await arrange(client)
      const scopes = SCOPES.map(scope =>
        scope.includes('.') ? `https://${CLOUDS[cloud].graph}/${scope}` : scope,
      )
      const { refreshToken } = await sandbox.grant(email, scopes, CLIENT.id, { provider: 'microsoft', cloud })
      const { status, body } = await caller().post<Account>('/v1/accounts', {
        provider: 'microsoft',
        microsoftCloud: cloud,
        refreshToken,
        settings: { syncWindowDays: null },
      })
      if (status !== 200) throw new Error(JSON.stringify(body))
      await waitForFirstSync(caller(), body.id)
      return { accountId: body.id, path: `/v1/accounts/${body.id}`, email, client }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
