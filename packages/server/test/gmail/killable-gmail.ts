import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { type CrashableService, openCrashableService } from '../sending/crashable-service.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { SANDBOX_CLIENT } from './connect-gmail.ts'
import { configureGmail, type GmailClient, openGmailClient, SCOPES } from './gmail-client.ts'

const HOST = 'gmail.googleapis.com'
const WHO = ['openid', 'email', 'profile']
const NO_QUOTA = '100000000'
/** Longer than the service waits for an answer. */
const PAUSE_MS = 600_000

/** A moment at which the service is killed: one that the service names, or while Gmail has the request of an upload. */
export type Moment =
  | string
  | {
      /** Whether Gmail carries the request out, after the service is gone. */
      isCarriedOut: boolean
    }

/** An account of the service, and another client of its mailbox. */
export interface KillableAccount {
  accountId: string
  path: string
  client: GmailClient
}

/** The service that may be killed, with the sandbox's Gmail. */
export interface KillableGmail extends CrashableService {
  sandbox: SandboxServer
  /** Adds a mailbox, arranges it, and connects it. */
  connect(email: string, arrange?: (client: GmailClient) => Promise<void>): Promise<KillableAccount>
  /** Begins work, and waits until it stays at the moment, where it is when the service is killed. */
  hold(moment: Moment, begin: () => Promise<unknown>): Promise<void>
}

export async function openKillableGmail(program?: string): Promise<KillableGmail> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandbox())
  await configureGmail(sandbox, { quota: 'off' })
  const env = {
    WAXWING_SANDBOX_URL: sandbox.controlUrl,
    WAXWING_GOOGLE_CLIENT_ID: SANDBOX_CLIENT.clientId,
    WAXWING_GOOGLE_CLIENT_SECRET: SANDBOX_CLIENT.clientSecret,
    WAXWING_GMAIL_UNITS_PER_MINUTE: NO_QUOTA,
    WAXWING_GMAIL_PROJECT_UNITS_PER_MINUTE: NO_QUOTA,
  }
  const service = opened.use(await openCrashableService({ env, program }))
  const { caller } = service
  const owned = opened.move()
  return {
    ...service,
    sandbox,
    async connect(email, arrange = () => Promise.resolve()) {
      await sandbox.addUser(email)
      const client = await openGmailClient(sandbox, email)
      await arrange(client)
      const { refreshToken } = await sandbox.grant(email, [...WHO, ...SCOPES])
      const given = { provider: 'google', refreshToken, settings: { syncWindowDays: null } }
      const { status, body } = await caller().post<Account>('/v1/accounts', given)
      if (status !== 200) throw new Error(JSON.stringify(body))
      await waitForFirstSync(caller(), body.id)
      return { accountId: body.id, path: `/v1/accounts/${body.id}`, client }
    },
    async hold(moment, begin) {
      if (typeof moment === 'string') return service.holdAt(moment, begin)
      const does = moment.isCarriedOut ? 'slow' : 'hang'
      await sandbox.addFault({ does, milliseconds: PAUSE_MS, host: HOST, path: '/upload/*', count: 1 })
      const after = (await sandbox.calls()).items.at(-1)?.id ?? 0
      begin().catch(() => {})
      await waitUntil('the upload', async () =>
        (await sandbox.calls({ after })).items.some(({ fault }) => fault === does),
      )
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
