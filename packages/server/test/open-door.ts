import { type AnyRouter, implement } from '@orpc/server'
import { type Scope, SCOPES, operation } from '@waxwing/contract/operation.ts'
import {
  accountPath,
  download,
  eventId,
  pageLimit,
  queryBoolean,
  queryList,
  text,
} from '@waxwing/contract/shapes.ts'
import { z } from 'zod'
import type { Database } from '../src/database/pool.ts'
import type { RequestContext } from '../src/calls/context.ts'
import { createCursorCodec } from '../src/database/page.ts'
import { createLoneRows } from '../src/features/tenancy/audit-log/lone-rows.ts'
import { createAuthenticator } from '../src/features/tenancy/credentials/authenticate.ts'
import { CredentialEnds } from '../src/features/tenancy/credentials/credential-ends.ts'
import { FAILING_CLIENTS_MAX, createFailureBrake } from '../src/features/tenancy/credentials/failure-brake.ts'
import { createApiKey } from '../src/features/tenancy/credentials/store.ts'
import { assignPlan } from '../src/features/accounts/plans/assign.ts'
import { NO_LIMITS, type PlanLimits } from '../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../src/features/tenancy/plans/store.ts'
import type { PushReceiver } from '../src/kit/push-receiver.ts'
import type { PublicRoute } from '../src/pages/public-route.ts'
import { refuse } from '../src/calls/refuse.ts'
import { createTenant } from '../src/features/tenancy/tenants/store.ts'
import { createApp } from '../src/http/app.ts'
import { createHostedWindows } from '../src/door/hosted-sessions.ts'
import { createIdempotencyKeys } from '../src/door/idempotency.ts'
import type { LoadClass } from '../src/door/load-class.ts'
import type { Door } from '../src/door/open-operation.ts'
import { type Patience, listen } from '../src/http/listen.ts'
import { PUBLIC_WINDOWS_MAX } from '../src/http/public-routes.ts'
import type { ObserveAnswer } from '../src/http/observe-answers.ts'
import { newId } from '../src/kit/ids.ts'
import type { Limits } from '../src/limits/limits.ts'
import { createOwnLimits } from '../src/limits/own-limits.ts'
import { createTenantShares } from '../src/limits/tenant-shares.ts'
import { openLog } from '../src/kit/log.ts'
import { openTestDatabase } from './open-database.ts'

const PEPPER = Buffer.alloc(32, 1)
const ANSWER_KEY = Buffer.alloc(32, 2)
const CURSOR_KEY = Buffer.alloc(32, 3)

/** A contract for tests of refusals: the door is the same for every operation. */
const contract = {
  echo: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/echo',
    scope: 'write',
    audit: 'echo.create',
    makes: null,
    summary: 'Answer with the input.',
    params: accountPath,
    query: z.strictObject({
      flag: queryBoolean.optional(),
      limit: pageLimit(200, 50),
      names: queryList(z.string().max(5)).optional(),
    }),
    body: z.strictObject({
      note: text({ max: 5 }).optional(),
      nested: z.array(z.strictObject({ id: z.int() })).optional(),
      free: z.record(z.string(), z.unknown()).optional(),
      filler: z.string().optional(),
      eventId: eventId.optional(),
      code: z
        .string()
        .regex(/^[a-z]+$/)
        .optional(),
    }),
    output: z.object({ params: z.unknown(), query: z.unknown(), body: z.unknown() }),
    successStatus: 202,
  }),
  read: operation({
    method: 'GET',
    path: '/v1/echo',
    scope: 'read',
    summary: 'Do what the query says.',
    refuses: ['account_paused'],
    query: z.strictObject({ fault: z.string().optional() }),
    output: z.object({ ok: z.literal(true) }),
  }),
  download: operation({
    method: 'GET',
    path: '/v1/download',
    scope: 'read',
    summary: 'Send more than any client reads.',
    output: download,
    produces: 'application/octet-stream',
  }),
}

const on = implement(contract).$context<RequestContext>()
const held = new Map<string, { entered: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> }>()

let piecesUnderWay = 0

async function* endless() {
  for (;;) {
    yield Buffer.alloc(64 * 1024)
    piecesUnderWay += 1
    // Simulates content that is read from elsewhere.
    await new Promise(resolve => setTimeout(resolve, 20))
    piecesUnderWay -= 1
  }
}

const operations: AnyRouter = {
  download: on.download.handler(() => ({
    contentType: 'application/octet-stream',
    fileName: 'endless',
    content: endless(),
  })),
  echo: on.echo.handler(({ input, context }) => context.change(() => Promise.resolve(input))),
  read: on.read.handler(async ({ input, context }) => {
    const { fault } = input.query
    if (fault === 'declared') refuse('account_paused')
    if (fault === 'undeclared') refuse('account_disabled')
    if (fault === 'throw') throw new Error('secret detail')
    const hold = held.get(context.requestId)
    hold?.entered.resolve()
    await hold?.released.promise
    // The contract promises `true`; this breaks it on purpose.
    return { ok: fault !== 'answer' } as { ok: true }
  }),
}

export interface DoorOptions {
  /** In place of the operations above. */
  operations?: AnyRouter
  /** Finds the sessions of hosted operations. */
  hostedSessions?: Door['hostedSessions']
  isStrict?: boolean
  corsOrigins?: string[]
  trustProxy?: string[]
  patience?: Patience
  publicRoutes?: readonly PublicRoute[]
  pushes?: readonly PushReceiver[]
  linksHost?: string
  /** Where it counts; by default for itself. */
  limits?: Limits
  /** An existing database to use. It is not disposed with the door, which has a tenant of its own. */
  database?: Database
}

/** A front door on a real port, with a database, one tenant, and operations that can be made to fail. */
export async function openTestDoor(options: DoorOptions = {}) {
  await using opened = new AsyncDisposableStack()
  const { db } = options.database ?? opened.use(await openTestDatabase())
  const tenant = await createTenant(db, newId())
  if (!tenant) throw new Error('A tenant has this name already')
  let skewMilliseconds = 0
  let stoppedAt: number | null = null
  const clock = { now: () => (stoppedAt ?? Date.now()) + skewMilliseconds }
  const lines: string[] = []
  const answers: string[] = []
  const answeredIds: string[] = []
  const observe: ObserveAnswer = ({ requestId, method, status }) => {
    answers.push(`${method} ${status}`)
    answeredIds.push(requestId)
  }
  const woken: string[] = []
  const counted: Scope[] = []
  const log = openLog({
    level: 'info',
    format: 'json',
    destination: { write: line => void lines.push(line) },
  })
  let overloaded: readonly LoadClass[] = []
  const { openWindows, calls, marks } = options.limits ?? createOwnLimits(clock)
  const app = createApp({
    db,
    operations: options.operations ?? operations,
    cursors: createCursorCodec(CURSOR_KEY, clock),
    log,
    authenticator: createAuthenticator({ db, pepper: PEPPER, clock }),
    brake: createFailureBrake({ windows: openWindows({ windowsMax: FAILING_CLIENTS_MAX }), marks, clock }),
    hostedSessions: options.hostedSessions ?? {},
    hostedWindows: createHostedWindows(openWindows),
    apiCalls: { count: (_, scope) => void counted.push(scope) },
    calls,
    shares: createTenantShares(),
    credentialEnds: new CredentialEnds({ db, clock, log }),
    idempotencyKeys: createIdempotencyKeys({ db, answerKey: ANSWER_KEY, log }),
    loneRows: createLoneRows(db),
    wake: accountId => void woken.push(accountId),
    overload: { isOverloaded: loadClass => overloaded.includes(loadClass), [Symbol.dispose]() {} },
    isStrict: options.isStrict ?? true,
    corsOrigins: options.corsOrigins ?? [],
    trustProxy: options.trustProxy ?? [],
    publicRoutes: options.publicRoutes ?? [],
    pushes: options.pushes ?? [],
    linksHost: options.linksHost ?? null,
    publicWindows: openWindows({ windowsMax: PUBLIC_WINDOWS_MAX }),
    isReady: () => Promise.resolve(true),
    observe,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0 }, { patience: options.patience, observe })
  opened.defer(() => listener.close({ deadlineMilliseconds: 0 }))
  const owned = opened.move()
  return {
    ...listener,
    db,
    pepper: PEPPER,
    tenantId: tenant.id,
    lines,
    /** Method and status of every answer. */
    answers,
    /** Ids of the requests that were answered. */
    answeredIds,
    /** The accounts whose owners were woken, in order. */
    woken,
    /** The scopes of the calls that counted for the usage of the tenant. */
    counted,
    calls,
    /** Number of pieces of downloads that are being read. */
    piecesUnderWay: () => piecesUnderWay,
    clock,
    /** Makes the door refuse requests of these classes, and no others. */
    overload: (classes: readonly LoadClass[]) => void (overloaded = classes),
    /** From now on, the clock moves only by `pass`, so no minute ends while a test counts what fits into one. */
    stopClock: () => void (stoppedAt ??= Date.now()),
    pass: (seconds: number) => void (skewMilliseconds += seconds * 1000),
    /** Holds the request of that id in its handler, from the moment it `entered` until it is released. */
    hold(requestId: string) {
      const hold = { entered: Promise.withResolvers<void>(), released: Promise.withResolvers<void>() }
      held.set(requestId, hold)
      return { entered: hold.entered.promise, release: hold.released.resolve }
    },
    async createKey(
      scopes: readonly Scope[] = SCOPES,
      { tenantId = tenant.id, accountIds = null }: { tenantId?: string; accountIds?: string[] | null } = {},
    ): Promise<string> {
      const key = { tenantId, name: 'test', scopes: [...scopes], accountIds, expiresAt: null }
      return (await createApiKey(db, PEPPER, key)).text
    },
    /** Assigns a plan with these limits to the tenant. Keys that were used in the last 5 seconds do not see it. */
    async limit(limits: Partial<PlanLimits>) {
      const plan = await createPlan(db, newId(), { ...NO_LIMITS, ...limits })
      await assignPlan(db, tenant.id, plan)
    },
    /** Number of keys of the tenant that have been used. */
    async keyUses(): Promise<number> {
      const keys = db.selectFrom('api_key').select('id').where('tenant_id', '=', tenant.id)
      return (await keys.where('last_used_at', 'is not', null).execute()).length
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
