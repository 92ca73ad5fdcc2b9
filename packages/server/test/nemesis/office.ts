import { GRACE } from '../sending/open-sending.ts'
import { OWN_SCOPES, refreshTokenOf } from '../graph/delegates.ts'
import { type GraphClient, openGraphClient } from '../graph/graph-client.ts'
import { startPushRelay } from '../graph/push-relay.ts'
import type { Random } from '../seeded.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'

/** The sandbox's Microsoft 365, in which some of the accounts of a run are. */
export interface Office extends AsyncDisposable {
  sandbox: SandboxServer
  /** Settings with which a process reaches it, and gets its pushes. */
  env: Record<string, string>
  addUser(email: string): Promise<void>
  /** A refresh token that lasts until the next password of the user. */
  grant(email: string): Promise<string>
  /** Opens another client of a mailbox. Its token dies after an hour, and with the password. */
  openClient(email: string): Promise<GraphClient>
  /** The Message-ID of each message that was accepted from an account of the run; all of them go to Grace. */
  accepted(): Promise<string[]>
  countCalls(): Promise<OfficeCalls>
}

/** Numbers of calls that the service made to Graph. */
export interface OfficeCalls {
  made: number
  struck: number
  /** Calls that Graph itself refused for the pace of the service. */
  throttled: number
}

const CLIENT_ID = 'sandbox'
const CLIENT_SECRET = 'sandbox-secret'
const THROTTLED = 429

/** @param findAddresses where pushes may go now */
export async function openOffice(findAddresses: () => string[], random: Random): Promise<Office> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandbox())
  const pushes = opened.use(
    await startPushRelay(() => {
      const addresses = findAddresses()
      return addresses.length === 0 ? undefined : random.pick(addresses)
    }),
  )
  const addUser = (email: string) => sandbox.addUser(email, { provider: 'microsoft', cloud: 'global' })
  await addUser(GRACE.address)
  const openClient = (email: string) => openGraphClient(sandbox, email)
  const owned = opened.move()
  return {
    sandbox,
    env: {
      WAXWING_SANDBOX_URL: sandbox.controlUrl,
      WAXWING_BASE_URL: pushes.url,
      WAXWING_MICROSOFT_CLIENT_ID: CLIENT_ID,
      WAXWING_MICROSOFT_CLIENT_SECRET: CLIENT_SECRET,
    },
    addUser,
    grant: email => refreshTokenOf(sandbox, email, { scopes: OWN_SCOPES }),
    openClient,
    async accepted() {
      const grace = await openClient(GRACE.address)
      const messages = await grace.all('mailFolders/inbox/messages?$select=internetMessageId&$top=500')
      return messages.map(({ internetMessageId }) => String(internetMessageId))
    },
    async countCalls() {
      const { items } = await sandbox.calls()
      const made = items.filter(({ clientId, fault }) => clientId === CLIENT_ID || fault !== null)
      const throttled = made.filter(({ status, fault }) => status === THROTTLED && fault === null)
      const struck = made.filter(({ fault }) => fault !== null)
      return { made: made.length, struck: struck.length, throttled: throttled.length }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
