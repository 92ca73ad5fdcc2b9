import { randomBytes } from 'node:crypto'
import { environmentKeyRing } from '../../src/kit/key-ring.ts'
import { type CrashableService, openCrashableService } from '../sending/crashable-service.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'
import { addGraphAccount } from './open-graph-app.ts'

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
  client: GraphClient
}

/** The service that may be killed, with the sandbox's Graph. */
export interface KillableGraph extends CrashableService {
  sandbox: SandboxServer
  /** Adds a mailbox and connects it. */
  connect(email: string): Promise<KillableAccount>
  /**
   * Begins work, and waits until it stays at the moment, where it is when the service is killed.
   * @param meanwhile done again and again until then
   */
  hold(moment: Moment, begin: () => Promise<unknown>, meanwhile?: () => Promise<unknown>): Promise<void>
}

export async function openKillableGraph(): Promise<KillableGraph> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandbox())
  await sandbox.control('PATCH', '/graph', { limits: 'off' })
  const secretKey = randomBytes(32).toString('base64')
  const env = { WAXWING_SANDBOX_URL: sandbox.controlUrl, WAXWING_SECRET_KEY: secretKey }
  const service = opened.use(await openCrashableService({ env }))
  const { db, caller } = service
  const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const app = { db, tenantId, keyRing: environmentKeyRing(secretKey) }
  const owned = opened.move()
  return {
    ...service,
    sandbox,
    async connect(email) {
      await sandbox.addUser(email, { messages: 0, provider: 'microsoft' })
      const client = await openGraphClient(sandbox, email)
      const accountId = await addGraphAccount({ app, sandbox }, email)
      await waitForFirstSync(caller(), accountId)
      return { accountId, path: `/v1/accounts/${accountId}`, client }
    },
    async hold(moment, begin, meanwhile) {
      if (typeof moment === 'string') return service.holdAt(moment, begin, meanwhile)
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
