import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { environmentKeyRing } from '../../src/kit/key-ring.ts'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { createApiKey } from '../../src/features/tenancy/credentials/store.ts'
import type { Db } from '../../src/database/pool.ts'
import { requireSealedValue } from '../../src/database/sealed-value.ts'
import { SCOPES } from '@waxwing/contract/operation.ts'
import { createTenant } from '../../src/features/tenancy/tenants/store.ts'
import { callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { makeDataFolder, PROGRAM, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { happen } from '../notifications/open-webhooks.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitUntil } from '../wait-until.ts'
import { waitForMinute } from './wait-for-minute.ts'
import { SOAK } from '../soak.ts'

const PATIENT = fileURLToPath(new URL('./patient-service.ts', import.meta.url))
const CLIENTS = 200
const LIMIT = 57
const IN_FLIGHT_MAX = 16
/** A burst is over long before the minute ends. */
const BURST_SECONDS = 15
/** Another process is started in it, after a burst. */
const LONG_SECONDS = 30
const SEVERAL = 'Several processes answer requests'

interface Site extends AsyncDisposable {
  db: Db
  secretKey: string
  /** Starts a process, by default of the patient service. */
  start(env?: Record<string, string>, program?: string): Promise<ServiceProcess>
}

let opened: AsyncDisposableStack
let redis: RedisServer
let site: Site

beforeAll(async () => {
  await using stack = new AsyncDisposableStack()
  redis = stack.use(await startRedis())
  site = stack.use(await openSite())
  opened = stack.move()
})

afterAll(() => opened.disposeAsync())

/** An installation without processes. */
async function openSite(): Promise<Site> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await makeExternalDatabase({ migrated: true }))
  const folder = stack.use(await makeDataFolder())
  const secretKey = randomBytes(32).toString('base64')
  const common = { DATABASE_URL: database.url, WAXWING_SECRET_KEY: secretKey, WAXWING_ROLES: 'api' }
  const owned = stack.move()
  return {
    db: database.database.db,
    secretKey,
    start: (env, program = PATIENT) => startServiceProcess(folder, { program, env: { ...common, ...env } }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function createKeys(
  { db, secretKey }: Site,
  name: string,
  count: number,
  limits: { perTenant?: number } = {},
): Promise<string[]> {
  const pepper = await requireSealedValue(db, environmentKeyRing(secretKey), 'credential_pepper')
  const tenant = await createTenant(db, name)
  if (!tenant) throw new Error(`There is a tenant ${name} already`)
  const { perTenant = null } = limits
  await assignPlan(db, tenant.id, await createPlan(db, name, { ...NO_LIMITS, apiCallsPerMinute: perTenant }))
  const key = { tenantId: tenant.id, name: 'test', scopes: [...SCOPES], accountIds: null, expiresAt: null }
  return Promise.all(Array.from({ length: count }, async () => (await createApiKey(db, pepper, key)).text))
}

async function findTenant(db: Db, name: string): Promise<string> {
  const { id } = await db.selectFrom('tenant').select('id').where('name', '=', name).executeTakeFirstOrThrow()
  return id
}

/**
 * Sends one request of each client to the processes in turn, and expects each place to be given once. Repeats it in another
 * minute if this one ended meanwhile. @returns the minute
 */
async function expectPlacesOnce(
  processes: readonly ServiceProcess[],
  keys: readonly string[],
): Promise<number> {
  const send = () =>
    Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        const { address } = processes[client % processes.length]!
        return callerOf(address, keys[client % keys.length]!).get('/v1/accounts')
      }),
    )
  await waitForMinute(BURST_SECONDS)
  let minute = minuteNow()
  let answers = await send()
  while (minuteNow() !== minute) {
    const spent = minuteNow()
    await waitUntil('another minute', () => Promise.resolve(minuteNow() !== spent))
    minute = minuteNow()
    answers = await send()
  }
  const accepted = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ status }) => status === 429)
  const places = accepted.map(({ headers }) => Number(headers.get('ratelimit-remaining') ?? Number.NaN))
  expect(places.toSorted((a, b) => a - b)).toEqual(Array.from({ length: LIMIT }, (_, place) => place))
  expect(refused).toHaveLength(CLIENTS - LIMIT)
  return minute
}

function minuteNow(): number {
  return Math.floor(Date.now() / 60_000)
}

async function isCounted(address: string, key: string): Promise<boolean> {
  return (await callerOf(address, key).get('/v1/accounts')).headers.has('ratelimit-limit')
}

describe('three processes with one Redis', () => {
  let processes: ServiceProcess[]

  beforeAll(async () => {
    processes = await Promise.all(Array.from({ length: 3 }, () => site.start({ REDIS_URL: redis.url })))
    for (const one of processes) opened.use(one)
    const [key = ''] = await createKeys(site, 'ready', 1, { perTenant: 1_000 })
    for (const { address } of processes) await waitUntil('a count', () => isCounted(address, key))
  })

  test('accept as many of 200 clients as the limit, and give no place twice', SOAK, async () => {
    const keys = await createKeys(site, 'shared', 20, { perTenant: LIMIT })
    await expectPlacesOnce(processes, keys)
  })

  test('hold 16 requests of a key together, and forget those of a process that was killed', async () => {
    const [key = ''] = await createKeys(site, 'waiting', 1)
    const isFull = async ({ address }: ServiceProcess) => {
      const { status, body } = await callerOf(address, key).get('/v1/settings')
      expect([200, 'too_many_requests']).toContain(status === 200 ? status : body['code'])
      return status !== 200
    }
    const over = new AbortController()
    const headers = { authorization: `Bearer ${key}` }
    // A waiting request whose place another request below has taken is sent again.
    const wait = async (at: ServiceProcess): Promise<number> => {
      const waiting = fetch(`${at.address}/v1/changes?waitSeconds=30`, { headers, signal: over.signal })
      const status = await waiting.then(
        answer => answer.status,
        () => 0,
      )
      return status === 429 ? wait(at) : status
    }
    const hold = async (at: ServiceProcess) => {
      while ((await wait(at)) === 200);
    }
    for (let nth = 0; nth < IN_FLIGHT_MAX; nth++) void hold(processes[nth % 3]!)
    for (const one of processes) await waitUntil('too many in progress', () => isFull(one))

    processes[0]!.kill('SIGKILL')
    expect(await isFull(processes[1]!)).toBe(true)
    await waitUntil('the end of the leases', async () => !(await isFull(processes[1]!)))
    // The ten of the others are still in progress, since their leases were renewed.
    const beside = Array.from({ length: 6 }, (_, nth) => wait(processes[1 + (nth % 2)]!))
    await waitUntil('too many in progress', () => isFull(processes[2]!))
    await happen({ db: site.db, tenantId: await findTenant(site.db, 'waiting') })
    for (const status of await Promise.all(beside)) expect(status).toBe(200)
    over.abort()
  })

  // The last one: the client of all tests is blocked then.
  test(
    'let a client fail 20 times together, but not with a key that was good at one of them',
    SOAK,
    async () => {
      const [key = ''] = await createKeys(site, 'failing', 1)
      // The first process was killed.
      const [, one, other] = processes.map(({ address }) => address)
      const statusOf = async (address = '', credential: string) =>
        (await callerOf(address, credential).get('/v1/accounts')).status
      expect(await statusOf(one, key)).toBe(200)
      await waitForMinute(BURST_SECONDS)
      for (let nth = 0; nth < 20; nth++)
        expect(await statusOf(nth % 2 === 0 ? one : other, `wk_guess${nth}`)).toBe(401)
      const similar = key.replace(/.$/, last => (last === 'x' ? 'y' : 'x'))
      expect(await statusOf(other, similar)).toBe(429)
      expect(await statusOf(other, key)).toBe(200)
    },
  )
})

test.concurrent('a process that cannot sign in to its Redis does not start, and does not show its password', async () => {
  await using locked = await startRedis({ password: 'right' })
  const url = locked.url.replace('right', 'wrong-password')
  const failure = await site.start({ REDIS_URL: url }, PROGRAM).catch((error: unknown) => String(error))
  expect(failure).toContain('The server of REDIS_URL')
  expect(failure).toContain('WRONGPASS')
  expect(failure).not.toContain('wrong-password')
})

test.concurrent('a process starts while its Redis cannot be reached', async () => {
  await using service = await site.start({ REDIS_URL: 'redis://127.0.0.1:1' }, PROGRAM)
  await waitUntil('the log to say it', async () =>
    service.output().includes('The store of REDIS_URL does not answer'),
  )
})

test.concurrent(
  'by rediss://, a server is used whose certificate is trusted, and no other',
  SOAK,
  async () => {
    await using secure = await startRedis({ password: 'secret', tls: true })
    const env = { REDIS_URL: secure.tlsUrl ?? '' }
    const failure = await site.start(env, PROGRAM).catch((error: unknown) => String(error))
    expect(failure).toContain('The server of REDIS_URL')

    await using folder = await makeDataFolder()
    const file = `${folder.path}/ca.pem`
    await writeFile(file, secure.ca ?? '')
    await using service = await site.start({ ...env, WAXWING_CA_FILE: file })
    const [key = ''] = await createKeys(site, 'secure', 1, { perTenant: 1_000 })
    await waitUntil('a count', () => isCounted(service.address, key))
    expect(await secure.command('dbsize')).not.toBe('0')
  },
)

test.concurrent('without Redis, one process counts in memory, and two count together in a table', async () => {
  await using alone = await openSite()
  await using first = await alone.start()
  const early = await createKeys(alone, 'early', 20, { perTenant: LIMIT })
  await waitForMinute(LONG_SECONDS)
  const minute = await expectPlacesOnce([first], early)
  expect(first.output()).not.toContain(SEVERAL)

  await using second = await alone.start()
  const both = [first, second]
  await waitUntil('both to know', () => Promise.resolve(both.every(one => one.output().includes(SEVERAL))))
  const more: number[] = []
  for (const { address } of both) more.push((await callerOf(address, early[0]!).get('/v1/accounts')).status)
  // A slow machine may need longer than the minute in which the early requests were counted.
  if (minuteNow() === minute) expect(more).toEqual([429, 429])

  const late = await createKeys(alone, 'late', 20, { perTenant: LIMIT })
  await expectPlacesOnce(both, late)
})
