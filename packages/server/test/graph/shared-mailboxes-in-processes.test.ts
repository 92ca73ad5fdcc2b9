import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { SCOPES } from '@waxwing/contract/operation.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { PAGE_ACCOUNTS } from '../../src/accounts/shared/lock.ts'
import type { Db } from '../../src/database/pool.ts'
import { requireSealedValue } from '../../src/database/sealed-value.ts'
import { createApiKey } from '../../src/features/tenancy/credentials/store.ts'
import { createTenant } from '../../src/features/tenancy/tenants/store.ts'
import { environmentKeyRing } from '../../src/kit/key-ring.ts'
import { type Caller, callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { makeTaskDue } from '../make-task-due.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { ageGrants } from '../tokens/age-grants.ts'
import { countEvents, insertShared, statusesOf } from '../tokens/shared-mailboxes.ts'
import { waitUntil } from '../wait-until.ts'
import { addOfficeUser, addShared, connectUser } from './delegates.ts'

const LOGIN = 'login.microsoftonline.com'
const SHARED = 20
/** With these, a refusal reaches the shared mailboxes in two pages. The first one has those that callers ask for. */
const UNCALLED = PAGE_ACCOUNTS
const CALLERS = 50
const LOST = 'reauth_required delegate_reauth_required'
/** `npm run soak` has more rounds, each of which kills a process. */
const REFUSALS = Number(process.env['WAXWING_TEST_REFUSALS'] ?? 1)

/** A busy machine must not have callers refused as overload. */
const PROGRAM = fileURLToPath(new URL('../limits/patient-service.ts', import.meta.url))

/** An app whose refresh tokens work once. */
const CLIENT = { clientId: 'single-use', clientSecret: 'single-use-secret' }
const NAMES = ['one', 'two', 'three'] as const
type Name = (typeof NAMES)[number]

interface Site {
  db: Db
  tenantId: string
  sandbox: SandboxServer
  processes: Map<Name, ServiceProcess>
  start(name: Name): Promise<void>
  kill(name: Name): Promise<void>
  /** Clients of all processes that run. Each has two keys, since one may have 16 requests in flight. */
  callers(): Caller[]
  makeDue(task: string): Promise<void>
}

let site: Site

/** Three processes of the service on one database. Each names itself in its connections. */
async function openSite(stack: AsyncDisposableStack): Promise<Site> {
  const sandbox = stack.use(await startSandbox())
  const { url, database } = stack.use(await makeExternalDatabase({ migrated: true }))
  const { db, pool } = database
  const folder = stack.use(await makeDataFolder())
  const secret = randomBytes(32).toString('base64')
  const processes: Site['processes'] = new Map()
  const start = async (name: Name) => {
    const env = {
      DATABASE_URL: `${url}&options=${encodeURIComponent(`-c test.process=${name}`)}`,
      WAXWING_SECRET_KEY: secret,
      WAXWING_ROLES: 'api,jobs',
      WAXWING_SANDBOX_URL: sandbox.controlUrl,
    }
    processes.set(name, stack.use(await startServiceProcess(folder, { program: PROGRAM, env })))
  }
  await noteRefusals(db)
  for (const name of NAMES) await start(name)
  const tenant = await createTenant(db, 'test')
  const pepper = await requireSealedValue(db, environmentKeyRing(secret), 'credential_pepper')
  const newKey = {
    tenantId: tenant!.id,
    name: 'test',
    scopes: [...SCOPES],
    accountIds: null,
    expiresAt: null,
  }
  const keys = [await createApiKey(db, pepper, newKey), await createApiKey(db, pepper, newKey)]
  return {
    db,
    tenantId: tenant!.id,
    sandbox,
    processes,
    start,
    async kill(name) {
      const killed = processes.get(name)!
      processes.delete(name)
      killed.kill('SIGKILL')
      await killed.ended
    },
    callers: () =>
      [...processes.values()].flatMap(({ address }) => keys.map(({ text }) => callerOf(address, text))),
    makeDue: task => makeTaskDue(pool, task),
  }
}

/** Lets the database note which process notes a refusal. */
async function noteRefusals(db: Db): Promise<void> {
  for (const statement of [
    'create table refusal (number bigint generated always as identity, process text)',
    `create function note_refusal() returns trigger language plpgsql as $$ begin
      insert into refusal (process) values (current_setting('test.process'));
      return null;
    end $$`,
    `create trigger note_refusal after update on oauth_grant for each row
      when (old.refused_at is null and new.refused_at is not null) execute function note_refusal()`,
  ])
    await sql.raw(statement).execute(db)
}

async function readRefusals(): Promise<Name[]> {
  const { rows } = await sql<{ process: Name }>`select process from refusal order by number`.execute(site.db)
  return rows.map(({ process }) => process)
}

async function countRefreshes(): Promise<number> {
  return (await site.sandbox.calls({ host: LOGIN, method: 'POST' })).items.filter(({ path }) =>
    path.endsWith('/token'),
  ).length
}

/**
 * Has callers use accounts in turn, each with one request of its own.
 * @returns the outcomes that there were; `gone` if the process ended before it answered
 */
async function callForAll(
  ids: readonly string[],
  count: number,
  call: (caller: Caller, path: string) => ReturnType<typeof caller.get<{ code?: string }>>,
): Promise<Set<string | number>> {
  const callers = site.callers()
  const answers = Array.from({ length: count }, async (_, nth) => {
    const path = `/v1/accounts/${ids[nth % ids.length]}`
    const answer = await call(callers[nth % callers.length]!, path).catch(() => null)
    return answer === null ? 'gone' : (answer.body.code ?? answer.status)
  })
  return new Set(await Promise.all(answers))
}

/** Has all callers search, for which each needs a token. */
const searchAll = (ids: readonly string[]) =>
  callForAll(ids, CALLERS, (caller, path) => caller.get(`${path}/search/messages?q=nothing&source=provider`))

let mailboxes = 0

/** Has callers create mailboxes, by calls that need a token with which Graph agrees. */
const createIn = (ids: readonly string[], count: number) =>
  callForAll(ids, count, (caller, path) => caller.post(`${path}/mailboxes`, { name: `Made ${++mailboxes}` }))

/** Connects a user of the app, and mailboxes that are shared with the user; others are only rows. */
async function connectDelegate() {
  const { db, tenantId, sandbox } = site
  const [caller] = site.callers()
  await sandbox.addClient({ provider: 'microsoft', cloud: 'global', ...CLIENT, singleUseRefreshTokens: true })
  const app = { provider: 'microsoft', cloud: 'global', name: 'Ours', ...CLIENT }
  const made = await caller!.post<{ id: string }>('/v1/oauth-apps', app)
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const given = { oauthAppId: made.body.id, clientId: CLIENT.clientId }
  const connect = async () => (await connectUser(site.callers()[0]!, sandbox, eva, given)).id
  const delegateId = await connect()
  const sharedIds: string[] = []
  for (let nth = 0; nth < SHARED; nth++) {
    const desk = await addOfficeUser(sandbox, { name: 'desk', messages: 1, delegates: [eva] })
    sharedIds.push((await addShared(caller!, delegateId, desk)).id)
  }
  const uncalledIds = await insertShared(db, { id: delegateId, tenantId }, UNCALLED)
  return {
    eva,
    connect,
    calledIds: [delegateId, ...sharedIds],
    uncalledIds,
    areAll: async (status: string) =>
      (await statusesOf(db, delegateId)).every(each => each === status) || null,
    countAll: async (type: string) => ({
      called: new Set(await countEvents(db, [delegateId, ...sharedIds], type)),
      uncalled: new Set(await countEvents(db, uncalledIds, type)),
    }),
  }
}

test(
  'a delegate with 20 shared mailboxes refreshes once for 50 callers of 3 processes, stops once though a process is killed, and comes back',
  async () => {
    await using stack = new AsyncDisposableStack()
    site = await openSite(stack)
    const { sandbox } = site
    const { eva, connect, calledIds, areAll, countAll } = await connectDelegate()
    await ageGrants(site.db)
    const before = await countRefreshes()
    expect(await searchAll(calledIds)).toEqual(new Set([200]))
    expect(await countRefreshes()).toBe(before + 1)
    expect(await areAll('active')).toBe(true)

    for (let round = 1; round <= REFUSALS; round++) {
      for (const name of NAMES) if (!site.processes.has(name)) await site.start(name)
      await sandbox.changeUser(eva, { passwordChanged: true })
      await ageGrants(site.db)
      const calling = createIn(calledIds, CALLERS)
      const noted = await waitUntil('the refusal', async () => (await readRefusals())[round - 1] ?? null)
      await site.kill(noted)
      const outcomes = await calling
      expect(outcomes).toContain('account_reauth_required')
      outcomes.delete('gone')
      expect(outcomes).toEqual(new Set(['account_reauth_required']))
      expect(await searchAll(calledIds)).toEqual(new Set(['account_reauth_required']))
      await site.makeDue('spread_grants')
      await waitUntil('all to stop', () => areAll(LOST))
      expect(await countAll('account.reauth_required')).toEqual({
        called: new Set([round]),
        uncalled: new Set([round]),
      })
      expect(await readRefusals()).toHaveLength(round)

      await connect()
      await waitUntil('all to come back', () => areAll('active'))
      // Accounts that are only rows were not announced when they were inserted.
      expect(await countAll('account.connected')).toEqual({
        called: new Set([round + 1]),
        uncalled: new Set([round]),
      })
      const renewed = await countRefreshes()
      expect(await createIn(calledIds, calledIds.length)).toEqual(new Set([200]))
      expect(await countRefreshes()).toBe(renewed)
    }
  },
  120_000 + REFUSALS * 60_000,
)
