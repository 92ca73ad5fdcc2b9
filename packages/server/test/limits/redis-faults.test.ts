import { AsyncResource } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Secret } from '../../src/kit/secret.ts'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { RENEW } from '../../src/limits/redis/scripts.ts'
import { findFreePort, readMetric } from '../metrics.ts'
import { happen } from '../notifications/open-webhooks.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitUntil } from '../wait-until.ts'
import { startWaitingProcess } from '../waiting-process.ts'
import type { CountingOptions } from './counting-process.ts'
import { expectExactWindows } from './expect-exact-windows.ts'
import type { Asked } from './load-window.ts'
import { waitForMinute } from './wait-for-minute.ts'
import { SOAK } from '../soak.ts'

const LIMIT = 100_000
/** Longer than in production, so that a Redis that the machine leaves waiting is not taken to be gone. */
const STORE_ANSWER_MILLISECONDS = 2_000
/** Longer than that. */
const LATE_SECONDS = 3
/** Some requests are over long before the minute ends. */
const MINUTE_SECONDS = 20
const COUNTING = new URL('counting-process.ts', import.meta.url)
/** Between two connections passes a quarter of a second at least. Without a pause, there would be thousands. */
const CONNECTIONS_PER_SECOND_MAX = 10

let opened: AsyncDisposableStack
let redis: RedisServer
let app: TestApp
let metricsPort: number

beforeAll(async () => {
  await using stack = new AsyncDisposableStack()
  redis = stack.use(await startRedis())
  metricsPort = await findFreePort()
  app = stack.use(
    await openTestApp({
      config: { redisUrl: new Secret(redis.url), metricsPort },
      pace: { storeAnswerMilliseconds: STORE_ANSWER_MILLISECONDS },
    }),
  )
  await assignPlan(
    app.db,
    app.tenantId,
    await createPlan(app.db, 'limited', { ...NO_LIMITS, apiCallsPerMinute: LIMIT }),
  )
  opened = stack.move()
  await waitUntil('the plan to be known', isCounted)
})

afterAll(() => opened.disposeAsync())

/** Bound to the file, which closes it. */
const startNext = AsyncResource.bind(async () => opened.use(await startRedis({ port: redis.port })))

const remainingOf = ({ headers }: { headers: Headers }) => headers.get('ratelimit-remaining')
const ask = () => app.get('/v1/accounts')

async function isCounted(): Promise<boolean> {
  const answer = await ask()
  expect(answer.status).toBe(200)
  return remainingOf(answer) !== null
}

/** Expects requests to pass without headers, at once, and that this is reported. */
async function expectUncounted() {
  const before = await readMetric(metricsPort, 'waxwing_calls_uncounted_total')
  await waitUntil('a request that is not counted', async () => !(await isCounted()))
  const startedAt = performance.now()
  for (let nth = 0; nth < 5; nth++) expect(await isCounted()).toBe(false)
  // They did not wait.
  expect((performance.now() - startedAt) / 5).toBeLessThan(STORE_ANSWER_MILLISECONDS)
  expect(await readMetric(metricsPort, 'waxwing_calls_uncounted_total')).toBeGreaterThanOrEqual(before + 6)
  expect(await readMetric(metricsPort, 'waxwing_limit_store_up')).toBe(0)
}

async function expectBack() {
  await waitUntil('a request that is counted', isCounted)
  expect(await readMetric(metricsPort, 'waxwing_limit_store_up')).toBe(1)
}

const reports = () => app.logLines.filter(line => line.includes('The store of REDIS_URL does not answer'))

describe('while Redis', () => {
  test('is stopped, requests pass without headers, and are counted when it goes on', SOAK, async () => {
    redis.kill('SIGSTOP')
    await expectUncounted()
    redis.kill('SIGCONT')
    await expectBack()
    const returns = app.logLines.filter(line => line.includes('The store of REDIS_URL is back'))
    expect(returns.length).toBeGreaterThan(0)
    // However many requests find it gone. A Redis that the machine leaves waiting is gone once more.
    expect(reports()).toHaveLength(returns.length)
  })

  test('answers late, requests pass without headers', async () => {
    const slow = redis.command('debug', 'sleep', String(LATE_SECONDS))
    await waitUntil('a request that is not counted', async () => !(await isCounted()))
    await slow
    await expectBack()
  })

  test('is killed, requests pass without headers, and are counted by the next one', async () => {
    redis.kill('SIGKILL')
    await expectUncounted()
    redis = await startNext()
    await expectBack()
    expect(
      Number((await redis.command('info', 'clients')).match(/connected_clients:(\d+)/)?.[1]),
    ).toBeLessThan(4)
  })

  test('forgets its scripts or everything, requests are counted without a break', SOAK, async () => {
    await expectBack()
    await waitForMinute(MINUTE_SECONDS)
    for (const command of [['script', 'flush'], ['flushall']]) {
      await redis.command(...command)
      expect(await isCounted()).toBe(true)
    }
    expect(remainingOf(await ask())).toBe(String(LIMIT - 2))
  })

  test('holds values that somebody else wrote, they count as none', async () => {
    for (const garbage of [
      ['set', 'garbage'],
      ['set', '9999999999999 -1'],
      ['rpush', 'a'],
      ['set', ''],
      ['set', 'MINUTE 9999999999'],
    ]) {
      const [command = '', form = ''] = garbage
      await waitForMinute(MINUTE_SECONDS)
      const value = form.replace('MINUTE', String(Math.floor(Date.now() / 60_000)))
      await ask()
      const keys = (await redis.command('--scan')).split('\n').filter(key => key !== '')
      expect(keys.length).toBeGreaterThan(0)
      for (const key of keys)
        await redis.command(
          'eval',
          `redis.call('del', KEYS[1]); redis.call('${command}', KEYS[1], ARGV[1])`,
          '1',
          key,
          value,
        )
      expect(remainingOf(await ask())).toBe(String(LIMIT - 1))
      expect(remainingOf(await ask())).toBe(String(LIMIT - 2))
    }
  })

  test('no longer takes writes, requests pass', async () => {
    await redis.command('config', 'set', 'maxmemory', '1')
    await waitUntil('a request that is not counted', async () => !(await isCounted()))
    await redis.command('config', 'set', 'maxmemory', '0')
    await expectBack()
  })
})

test('Redis holds no id, address or key in the clear', async () => {
  await expectBack()
  for (let nth = 0; nth < 3; nth++) await app.as(`wk_guess${nth}`).get('/v1/accounts')
  const keys = await redis.command('--scan')
  const values = await redis.command('eval', "return cjson.encode(redis.call('keys', '*'))", '0')
  expect(keys.split('\n').every(key => /^waxwing:\{[\w-]{8}\}:[\w-]{22}$/.test(key))).toBe(true)
  for (const secret of [app.tenantId, app.key, '127.0.0.1', '7f000001'])
    expect(keys + values).not.toContain(secret)
})

test('requests in progress end while Redis is gone, and do not count when it is back', async () => {
  const { text } = await app.createKey()
  const caller = app.as(text)
  // A waiting request whose place another request below has taken is sent again.
  const wait = async (): Promise<{ status: number }> => {
    const answer = await caller.get('/v1/changes?waitSeconds=30')
    return answer.status === 429 ? wait() : answer
  }
  const waits = Array.from({ length: 16 }, wait)
  await waitUntil(
    'all of them to be in progress',
    async () => (await caller.get('/v1/accounts')).status === 429,
  )
  // A script that Redis does not have is sent twice, and later calls overtake it.
  await waitUntil('a renewal', async () => (await redis.command('script', 'exists', RENEW.sha)) === '1')
  redis.kill('SIGSTOP')
  await waitUntil('a request that is not counted', async () => !(await isCounted()))
  // A renewal that was sent before Redis stopped has failed by then. While one runs, the link's return begins no other.
  await sleep(STORE_ANSWER_MILLISECONDS + 100)
  await happen(app)
  for (const waiting of waits) expect((await waiting).status).toBe(200)
  redis.kill('SIGCONT')
  await expectBack()
  const again = await Promise.all(Array.from({ length: 16 }, () => caller.get('/v1/accounts')))
  expect(again.map(({ status }) => status)).toEqual(again.map(() => 200))
})

test('200 clients of three processes get each place of a window once, while windows end', SOAK, async () => {
  await using stack = new AsyncDisposableStack()
  const options = {
    redisUrl: redis.url,
    clients: 67,
    // So few that a busy machine, too, asks for many times as many.
    limit: 40,
    milliseconds: 4_000,
    windowMilliseconds: 1_000,
  } satisfies CountingOptions
  const start = () => startWaitingProcess<Asked[]>(COUNTING, options)
  const processes = await Promise.all(Array.from({ length: 3 }, start))
  for (const one of processes) stack.use(one)
  const asked = (await Promise.all(processes.map(one => one.go()))).flatMap(told => told ?? [])
  expect(asked.filter(({ count }) => count?.isAccepted).length).toBeGreaterThan(2 * options.limit)
  expectExactWindows(asked, { limit: options.limit, milliseconds: options.windowMilliseconds })
})

test('a connection is opened at most a few times a second while Redis is gone', SOAK, async () => {
  const countConnections = async () =>
    Number((await redis.command('info', 'stats')).match(/total_connections_received:(\d+)/)?.[1])
  const [before, begunAt] = [await countConnections(), performance.now()]
  redis.kill('SIGSTOP')
  await expectUncounted()
  // Time for what must not happen.
  await sleep(1_500)
  redis.kill('SIGCONT')
  await expectBack()
  const seconds = (performance.now() - begunAt) / 1_000
  expect((await countConnections()) - before).toBeLessThan(CONNECTIONS_PER_SECOND_MAX * seconds)
})
