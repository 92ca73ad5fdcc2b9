import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import { type Caller, callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { SANDBOX_CLIENT } from './connect-gmail.ts'
import { configureGmail, type GmailClient, openGmailClient, SCOPES } from './gmail-client.ts'

/** A service that crashes at moments which it names. */
const CRASHING = fileURLToPath(new URL('../sending/crashing-service.ts', import.meta.url))
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

/** The service in a process of its own that may be killed, with the sandbox's Gmail. */
export interface KillableGmail extends AsyncDisposable {
  db: Db
  sandbox: SandboxServer
  /** Adds a mailbox, arranges it, and connects it. */
  connect(email: string, arrange?: (client: GmailClient) => Promise<void>): Promise<KillableAccount>
  caller(): Caller
  /** Kills the service at the moment while it works, and starts it again. Throws if the moment does not come. */
  crash(moment: Moment, work: () => Promise<unknown>): Promise<void>
  /** Kills the service now, and starts it again. */
  kill(): Promise<void>
  /** What the service has written since its last start. */
  output(): string
}

export async function openKillableGmail(program = CRASHING): Promise<KillableGmail> {
  await using opened = new AsyncDisposableStack()
  const { url, database } = opened.use(await makeExternalDatabase({ migrated: true }))
  const { db } = database
  const sandbox = opened.use(await startSandbox())
  await configureGmail(sandbox, { quota: 'off' })
  const folder = opened.use(await makeDataFolder())
  const options = {
    program,
    env: {
      DATABASE_URL: url,
      WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
      WAXWING_SANDBOX_URL: sandbox.controlUrl,
      WAXWING_GOOGLE_CLIENT_ID: SANDBOX_CLIENT.clientId,
      WAXWING_GOOGLE_CLIENT_SECRET: SANDBOX_CLIENT.clientSecret,
      WAXWING_GMAIL_UNITS_PER_MINUTE: NO_QUOTA,
      WAXWING_GMAIL_PROJECT_UNITS_PER_MINUTE: NO_QUOTA,
    },
  }
  let service: ServiceProcess = await startServiceProcess(folder, options)
  opened.defer(() => service[Symbol.asyncDispose]())
  const { key } = service
  const caller = () => callerOf(service.address, key)
  const file = join(folder.path, 'crash-at')

  /** Arms the crash. @returns what ends once the service is killed */
  async function arm(moment: Moment): Promise<() => Promise<void>> {
    if (typeof moment === 'string') {
      await writeFile(file, moment)
      return () => Promise.resolve()
    }
    const does = moment.isCarriedOut ? 'slow' : 'hang'
    await sandbox.addFault({ does, milliseconds: PAUSE_MS, host: HOST, path: '/upload/*', count: 1 })
    const after = (await sandbox.calls()).items.at(-1)?.id ?? 0
    return async () => {
      await waitUntil('the upload', async () =>
        (await sandbox.calls({ after })).items.some(({ fault }) => fault === does),
      )
      service.kill('SIGKILL')
    }
  }

  async function startAgain(): Promise<void> {
    // In place of waiting until the leases have ended.
    await sql`update instance set heartbeat_until = '-infinity'`.execute(db)
    await sql`update idempotency_key set locked_until = '-infinity' where status is null`.execute(db)
    service = await startServiceProcess(folder, options)
  }

  const owned = opened.move()
  return {
    db,
    sandbox,
    caller,
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
    async crash(moment, work) {
      let isOver = false
      void service.ended.then(() => (isOver = true))
      const kill = await arm(moment)
      await Promise.all([kill(), work().catch(() => null)])
      await waitUntil(`the end at ${JSON.stringify(moment)}`, async () => isOver)
      await sandbox.clearFaults()
      await rm(file, { force: true })
      await startAgain()
    },
    async kill() {
      service.kill('SIGKILL')
      await service.ended
      await startAgain()
    },
    output: () => service.output(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
