import { AsyncResource } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import type { Database, Db } from '../../src/database/pool.ts'
import { type Caller, callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'
import { captureStates, requireListedStates } from './written-states.ts'

/** The service that a test ends at moments of its work. */
const CRASHING = fileURLToPath(new URL('./crashing-service.ts', import.meta.url))

/** A database that outlives the service. */
interface OutlivingDatabase extends AsyncDisposable {
  url: string
  database: Pick<Database, 'db'>
}

export interface CrashableOptions {
  env?: Record<string, string>
  /** In place of the service that crashes at moments. */
  program?: string | undefined
  /** Makes a migrated database; by default on the server of the test run. */
  makeDatabase?: (() => Promise<OutlivingDatabase>) | undefined
}

/** The service in a process of its own, which is killed and started again on the same data. */
export interface CrashableService extends AsyncDisposable {
  db: Db
  caller(): Caller
  /** Where the API listens now. */
  address(): string
  /** Output of the service since its last start. */
  output(): string
  /**
   * Begins work, and waits until some of it stays at the moment, where it is when the service is killed.
   * @param meanwhile done again and again until then
   */
  holdAt(point: string, begin: () => unknown, meanwhile?: () => Promise<unknown>): Promise<void>
  /** Lets the service end itself when the moment has come this often. */
  crashAt(point: string, times?: number): Promise<void>
  /** Kills the service, and waits until it has ended. */
  kill(): Promise<void>
  /** Waits until the service has ended, and starts it again. Fails if an entry of the outbox was in no listed state. */
  restart(): Promise<void>
}

export async function openCrashableService({
  env = {},
  program = CRASHING,
  makeDatabase = () => makeExternalDatabase({ migrated: true }),
}: CrashableOptions): Promise<CrashableService> {
  await using opened = new AsyncDisposableStack()
  const { url, database } = opened.use(await makeDatabase())
  const { db } = database
  await captureStates(db)
  const folder = opened.use(await makeDataFolder())
  const options = {
    program,
    env: { DATABASE_URL: url, WAXWING_SECRET_KEY: randomBytes(32).toString('base64'), ...env },
  }
  let service: ServiceProcess = await startServiceProcess(folder, options)
  opened.defer(() => service[Symbol.asyncDispose]())
  const { key } = service
  const holdFile = join(folder.path, 'hold-at')
  const owned = opened.move()
  return {
    db,
    caller: () => callerOf(service.address, key),
    address: () => service.address,
    output: () => service.output(),
    async holdAt(point, begin, meanwhile = async () => {}) {
      await writeFile(holdFile, point)
      const begun = Promise.resolve(begin())
      // The service dies before it answers, or has answered and works on.
      begun.catch(() => {})
      await waitUntil(`work to be held at ${point}`, async () => {
        await meanwhile()
        return !existsSync(holdFile)
      })
    },
    crashAt: (point, times = 1) => writeFile(join(folder.path, 'crash-at'), `${point} ${times}`),
    async kill() {
      service.kill('SIGKILL')
      await service.ended
    },
    // Bound to the file: what it starts outlives the test.
    restart: AsyncResource.bind(async () => {
      await service.ended
      await rm(holdFile, { force: true })
      // In place of waiting until the leases have ended.
      await sql`update instance set heartbeat_until = '-infinity'`.execute(db)
      await sql`update idempotency_key set locked_until = '-infinity' where status is null`.execute(db)
      service = await startServiceProcess(folder, options)
      await requireListedStates(db)
    }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
