import { createCursorCodec } from '../database/page.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import { accountKeys } from '../features/accounts/accounts/secrets.ts'
import type { Services } from '../features/context.ts'
import { createAuthenticator } from '../features/tenancy/credentials/authenticate.ts'
import { createFailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import { createApp } from '../http/app.ts'
import { createHostedWindows } from '../door/hosted-sessions.ts'
import { createIdempotencyKeys } from '../door/idempotency.ts'
import { createInFlight } from '../door/in-flight.ts'
import { createMemoryWindows } from '../door/memory-windows.ts'
import { watchOverload } from '../door/overload.ts'
import { listen } from '../http/listen.ts'
import { operations } from '../http/operations.ts'
import { observeAnswers } from '../http/observe-answers.ts'
import { openPartPlaces } from '../features/mail/content/part-places.ts'
import { openMessageReader } from '../kit/mime/message-reader.ts'
import { openSemaphore } from '../kit/semaphore.ts'
import { systemRecords } from '../providers/autoconfig/records.ts'
import { type SearchOptions, serverSearch } from '../providers/autoconfig/search.ts'
import { serverCheck } from '../providers/server-check.ts'
import { budgetedCheck } from '../connections/budgeted-check.ts'
import type { Shared } from './roles.ts'

/** Of the database's connections and processors, most are for requests that are quick. */
const SEARCHES = { atOnce: 4, waitingMax: 64 }

export interface Api extends AsyncDisposable {
  address: string
  /** Takes no new request and waits for those under way, at most so long. */
  close(seconds: number): Promise<void>
}

/** Where the servers of an address are looked for, other than in the world. */
export type AutoconfigPlaces = Partial<
  Pick<SearchOptions, 'records' | 'ispdbUrl' | 'httpsPort' | 'searchSeconds'>
>

/** The role `api`: the public front door. */
export async function startApi(shared: Shared): Promise<Api> {
  const { config, installation, pepper, metrics, readiness, clock, log, isStrict } = shared
  const { database, keyRing } = installation
  const { db } = database
  const answerKey = await requireSealedValue(db, keyRing, 'answer_key')
  await using opened = new AsyncDisposableStack()
  const overload = shared.overload ?? opened.use(watchOverload(database.waitMilliseconds, log))
  const observe = observeAnswers(metrics, log)
  const app = createApp({
    db,
    services: await makeServices(shared, opened),
    authenticator: createAuthenticator({ db, pepper, clock }),
    brake: createFailureBrake(clock),
    hostedSessions: {},
    hostedWindows: createHostedWindows(clock),
    windows: createMemoryWindows(clock),
    inFlight: createInFlight(),
    idempotencyKeys: createIdempotencyKeys({ db, answerKey, log }),
    wake: shared.waker.wake,
    overload,
    isStrict,
    operations,
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    isReady: async () => (await readiness.findProblems()).length === 0,
    observe,
  })
  const listener = await listen(app, { host: config.host, port: config.port }, { observe })
  const watching = opened.move()
  let closing: Promise<void> | null = null
  async function end(seconds: number) {
    await listener.close({ deadlineMilliseconds: seconds * 1000 })
    await watching.disposeAsync()
  }
  const close = (seconds: number) => (closing ??= end(seconds))
  return { address: listener.address, close, [Symbol.asyncDispose]: () => close(0) }
}

async function makeServices(shared: Shared, opened: AsyncDisposableStack): Promise<Services> {
  const { config, installation, pepper, guard, budget, clock, log, authorities, autoconfig } = shared
  const { database, keyRing } = installation
  return {
    cursors: createCursorCodec(await requireSealedValue(database.db, keyRing, 'cursor_key'), clock),
    accountKeys: accountKeys(keyRing),
    credentialPepper: pepper,
    servers: budgetedCheck(serverCheck({ guard, authorities }), budget),
    serverSearch: serverSearch({
      guard,
      authorities,
      records: systemRecords(),
      allowPlaintext: config.allowPlaintext,
      ...autoconfig,
    }),
    connections: shared.connections,
    blobs: shared.blobs,
    bodies: shared.bodies,
    reader: opened.use(openMessageReader()),
    partPlaces: openPartPlaces(),
    searches: openSemaphore(SEARCHES),
    allowPlaintext: config.allowPlaintext,
    log,
  }
}
