import { type Caller, callerOf } from '../packages/server/test/caller.ts'
import type { MailServer, TestUser } from '../packages/server/test/servers/mail-server.ts'
import {
  type DataFolder,
  makeDataFolder,
  PROGRAM,
  startServiceProcess,
} from '../packages/server/test/service-process.ts'

const INITIALIZED_SECONDS_MAX = 1800
const POLL_MS = 50

/** The service as users run it, with a process and a data folder of its own, and a caller with a key. */
export interface BenchService extends Caller, AsyncDisposable {
  pid: number
  address: string
  key: string
  folder: DataFolder
  /**
   * Connects an account with full history without waiting for its mail. `port` is that of a proxy before the server, if
   * any. With `smtpPort` it sends by a server on this machine, without copies in the mailbox of sent mail.
   */
  connect(
    server: MailServer,
    user: TestUser,
    options?: { port?: number; bodyStorage?: 'none' | 'cache' | 'full'; smtpPort?: number },
  ): Promise<string>
  /** Waits until the first sync of an account is done; returns ms since `performance.timeOrigin`. */
  untilInitialized(accountId: string): Promise<number>
}

interface Account {
  id: string
  initializedAt: string | null
  status: string
  runtime: unknown
}

/** The command line of the service that is measured: this one's, or that of an older commit. */
export const MEASURED_PROGRAM = process.env['WAXWING_BENCH_PROGRAM'] ?? PROGRAM

/** Settings with which a service may reach mail servers on this machine. */
export const SERVICE_SETTINGS = {
  WAXWING_EGRESS_ALLOW: '127.0.0.1',
  WAXWING_ALLOW_PLAINTEXT: 'true',
  WAXWING_LOG_LEVEL: 'info',
}

/** @param options.folders removes the service's data at its own end. Without it, they are removed when the service ends. */
export async function startBenchService({
  folders,
  connectionsPerHost = 1000,
  env = {},
}: {
  folders?: AsyncDisposableStack
  connectionsPerHost?: number
  /** Further settings of the service. */
  env?: Record<string, string>
} = {}): Promise<BenchService> {
  await using opened = new AsyncDisposableStack()
  const folder = (folders ?? opened).use(await makeDataFolder())
  const service = opened.use(
    await startServiceProcess(folder, {
      program: MEASURED_PROGRAM,
      env: {
        ...SERVICE_SETTINGS,
        WAXWING_CONNECTIONS_PER_HOST: String(connectionsPerHost),
        ...env,
      },
    }),
  )
  const { address, key } = service
  if (key === null) throw new Error('The first start printed no key')
  const caller = callerOf(address, key)
  const owned = opened.move()
  return {
    ...caller,
    pid: service.pid,
    address,
    key,
    folder,
    async connect(server, { user, password, email }, options = {}) {
      const { port = server.port, bodyStorage = 'none', smtpPort } = options
      const imap = { host: server.host, port, security: 'none', user }
      const settings = { syncWindowDays: null, bodyStorage }
      const answer = await caller.post<Account>('/v1/imap-accounts', {
        email,
        password,
        imap,
        smtp: smtpPort === undefined ? null : { host: '127.0.0.1', port: smtpPort, security: 'none', user },
        appendSent: smtpPort === undefined,
        settings,
      })
      if (answer.status !== 200 && answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      return answer.body.id
    },
    async untilInitialized(accountId) {
      const deadline = performance.now() + INITIALIZED_SECONDS_MAX * 1000
      for (;;) {
        const { body } = await caller.get<Account>(`/v1/accounts/${accountId}`)
        if (body.initializedAt !== null) return performance.now()
        if (performance.now() > deadline) throw new Error(`not initialized: ${JSON.stringify(body)}`)
        await new Promise(resolve => setTimeout(resolve, POLL_MS))
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
