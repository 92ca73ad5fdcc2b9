import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import {
  type CrashableOptions,
  type CrashableService,
  openCrashableService,
} from '../sending/crashable-service.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'
import { startPushRelay } from './push-relay.ts'

const CLIENT = { id: 'sandbox', secret: 'sandbox-secret' }
const SCOPES = [
  'openid',
  'profile',
  'email',
  'offline_access',
  'User.Read',
  'Mail.ReadWrite',
  'Mail.Send',
  'Contacts.ReadWrite',
]

/** Longer than the service waits for an answer. */
const PAUSE_MS = 600_000

/** A moment at which the service is killed: one that the service names, or while Graph has a request. */
export type Moment =
  | string
  | {
      method: string
      path: string
      /** Whether Graph carries the request out, after the service is gone. */
      isCarriedOut: boolean
    }

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
    mailbox?: { cloud?: Cloud; arrange?: (client: GraphClient) => Promise<unknown>; settings?: object },
  ): Promise<KillableAccount>
  /**
   * Begins work, and waits until it stays at the moment, where it is when the service is killed.
   * @param meanwhile done again and again until then
   */
  hold(moment: Moment, begin: () => Promise<unknown>, meanwhile?: () => Promise<unknown>): Promise<void>
}

export async function openKillableGraph({
  program,
}: Pick<CrashableOptions, 'program'> = {}): Promise<KillableGraph> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandbox())
  let service: CrashableService | null = null
  const pushes = opened.use(await startPushRelay(() => service?.address()))
  const env = {
    WAXWING_SANDBOX_URL: sandbox.controlUrl,
    WAXWING_BASE_URL: pushes.url,
    WAXWING_MICROSOFT_CLIENT_ID: CLIENT.id,
    WAXWING_MICROSOFT_CLIENT_SECRET: CLIENT.secret,
    WAXWING_MICROSOFT_CHINA_CLIENT_ID: CLIENT.id,
    WAXWING_MICROSOFT_CHINA_CLIENT_SECRET: CLIENT.secret,
  }
  service = opened.use(await openCrashableService({ env, program }))
  const { caller, holdAt } = service
  const owned = opened.move()
  return {
    ...service,
    sandbox,
    async connect(email, { cloud = 'global', arrange, settings } = {}) {
      await sandbox.addUser(email, { messages: 0, provider: 'microsoft', cloud })
      const client = await openGraphClient(sandbox, email, { cloud, host: CLOUDS[cloud].graph })
      await arrange?.(client)
      const scopes = SCOPES.map(scope =>
        scope.includes('.') ? `https://${CLOUDS[cloud].graph}/${scope}` : scope,
      )
      const { refreshToken } = await sandbox.grant(email, scopes, CLIENT.id, { provider: 'microsoft', cloud })
      const { status, body } = await caller().post<Account>('/v1/accounts', {
        provider: 'microsoft',
        microsoftCloud: cloud,
        refreshToken,
        settings: { syncWindowDays: null, contactsEnabled: false, ...settings },
      })
      if (status !== 200) throw new Error(JSON.stringify(body))
      await waitForFirstSync(caller(), body.id)
      return { accountId: body.id, path: `/v1/accounts/${body.id}`, email, client }
    },
    async hold(moment, begin, meanwhile) {
      if (typeof moment === 'string') return await holdAt(moment, begin, meanwhile)
      const { isCarriedOut, ...which } = moment
      const does = isCarriedOut ? 'slow' : 'hang'
      await sandbox.addFault({ does, milliseconds: PAUSE_MS, ...which, count: 1 })
      const after = (await sandbox.calls()).items.at(-1)?.id ?? 0
      begin().catch(() => {})
      await waitUntil(`${which.method} ${which.path}`, async () =>
        (await sandbox.calls({ after })).items.some(({ fault }) => fault === does),
      )
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
