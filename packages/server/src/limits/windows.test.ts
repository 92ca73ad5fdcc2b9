import { randomBytes } from 'node:crypto'
import fc from '../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { expectExactWindows } from '../../test/limits/expect-exact-windows.ts'
import { hasRefusal, loadWindow } from '../../test/limits/load-window.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { startRedis } from '../../test/servers/redis.ts'
import { systemClock } from '../kit/clock.ts'
import { silentLog } from '../kit/log.ts'
import { newId } from '../kit/ids.ts'
import { parseRedisUrl } from '../kit/redis-url.ts'
import { createMemoryWindows } from './memory-windows.ts'
import { RedisLink } from './redis/link.ts'
import { createNames } from './redis/names.ts'
import { createRedisWindows } from './redis/windows.ts'
import { createTableWindows } from './table-windows.ts'
import { type Windows, decideCount, fallBackTo } from './windows.ts'

const CLIENTS = 200
const EDGES = 5
/** A window that does not end while a test runs. */
const MONTH_MINUTES = 30 * 24 * 60
/** Longer than 200 clients wait for a busy machine. */
const SHORT_MILLISECONDS = 1_200
/** A machine that does much else may be slow. */
const PATIENCE = { answerMilliseconds: 10_000 }

interface Store extends AsyncDisposable {
  open(minutes: number): Windows
}

const STORES: Record<string, () => Promise<Store>> = {
  'in memory': () =>
    Promise.resolve({
      open: minutes => createMemoryWindows(systemClock, 10_000, minutes),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
  'in a table': async () => {
    const database = await openTestDatabase()
    return {
      open: minutes => createTableWindows(database.db, minutes),
      [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
    }
  },
  'in Redis': async () => {
    await using opened = new AsyncDisposableStack()
    const server = opened.use(await startRedis())
    const address = parseRedisUrl(server.url)
    const keyOf = createNames(randomBytes(32))
    const link = opened.use(
      await RedisLink.open({ address, authorities: undefined, log: silentLog, keyOf, ...PATIENCE }),
    )
    const owned = opened.move()
    return {
      open: minutes => createRedisWindows(link, minutes),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    }
  },
}

const LIMITS: { [name: string]: number } = { tenant: 5, 'key a': 3, 'key b': 4 }
const request = fc.record({ key: fc.constantFrom('key a', 'key b'), isOnlyChecked: fc.boolean() })

/** The loads take their time, so the stores are tried at once. */
describe.concurrent.for(Object.entries(STORES))('windows %s', ([, openStore]) => {
  test('count on all windows or none, as a list of all that was accepted would', async () => {
    await using store = await openStore()
    const windows = store.open(MONTH_MINUTES)
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 20 }), async requests => {
        const run = newId()
        const used: { [name: string]: number } = {}
        for (const { key, isOnlyChecked } of requests) {
          const asked = ['tenant', key].map(name => ({
            name: `${name} ${run}`,
            limit: LIMITS[name] ?? 0,
            isOnlyChecked: isOnlyChecked && name !== 'tenant',
          }))
          const left = asked.map(({ name, limit }) => limit - (used[name] ?? 0))
          const count = await windows.count(asked)
          expect(count).toEqual(decideCount(asked, left, count?.resetSeconds ?? 0))
          expect(count?.resetSeconds).toBeGreaterThan(0)
          if (!count?.isAccepted) continue
          for (const one of asked) if (!one.isOnlyChecked) used[one.name] = (used[one.name] ?? 0) + 1
        }
      }),
      { numRuns: 40 },
    )
  })

  test('accept as many of 200 at once as the limit, and a refused one spends nothing', async () => {
    await using store = await openStore()
    const windows = store.open(MONTH_MINUTES)
    const tenant = { name: 'tenant', limit: 57 }
    const keys = Array.from({ length: 15 }, (_, nth) => ({ name: `key ${nth}`, limit: 11 }))
    // Half of the clients use one key, whose own window is spent first.
    const keyOf = (client: number) => keys[client % 2 === 0 ? 0 : client % keys.length]!
    const counts = await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => ({
        key: keyOf(client),
        isAccepted: (await windows.count([tenant, keyOf(client)]))?.isAccepted === true,
      })),
    )

    expect(counts.filter(({ isAccepted }) => isAccepted)).toHaveLength(tenant.limit)
    for (const key of keys) {
      const spent = counts.filter(count => count.isAccepted && count.key === key).length
      expect(spent).toBeLessThanOrEqual(key.limit)
      const left = await windows.count([{ name: key.name, limit: key.limit + 1 }])
      expect(left).toMatchObject({ isAccepted: true, remaining: key.limit - spent })
    }
  })

  test('hand out each place of a window once while windows end under load', async () => {
    await using store = await openStore()
    const windows = store.open(SHORT_MILLISECONDS / 60_000)
    const window = { name: 'tenant', limit: 30 }
    const asked = await loadWindow(() => windows.count([window]), {
      clients: CLIENTS,
      milliseconds: EDGES * SHORT_MILLISECONDS,
      isEnough: until => hasRefusal(until, SHORT_MILLISECONDS),
    })
    expectExactWindows(asked, { limit: window.limit, milliseconds: SHORT_MILLISECONDS })
  })

  test('know which window is spent until it ends', async ({ expect: expectHere }) => {
    await using store = await openStore()
    const windows = store.open(MONTH_MINUTES)
    const [two, wide] = [
      { name: 'two', limit: 2 },
      { name: 'wide', limit: 100 },
    ]
    await windows.count([two, wide])
    expect([windows.spentSeconds(two), windows.spentSeconds(wide)]).toEqual([0, 0])
    await windows.count([two, wide])
    expect(windows.spentSeconds(two)).toBeGreaterThan(0)
    expect(windows.spentSeconds(wide)).toBe(0)

    const brief = store.open(SHORT_MILLISECONDS / 60_000)
    await expectHere.poll(async () => (await brief.count([two]))?.isAccepted, { interval: 1 }).toBe(false)
    await expectHere.poll(() => brief.spentSeconds(two)).toBe(0)
  })

  test('know no window as spent of which something is left', async () => {
    await using store = await openStore()
    const windows = store.open(MONTH_MINUTES)
    const [checked, spent, beside] = [
      { name: 'checked', limit: 1, isOnlyChecked: true },
      { name: 'spent', limit: 1 },
      { name: 'beside', limit: 1 },
    ]
    expect(await windows.count([checked, spent])).toMatchObject({ isAccepted: true })
    expect(await windows.count([beside, spent])).toMatchObject({ isAccepted: false })
    const known = [checked, spent, beside].map(window => windows.spentSeconds(window) > 0)
    expect(known).toEqual([false, true, false])
  })
})

test('windows of this process count while the shared ones cannot be reached', async () => {
  const own = createMemoryWindows(systemClock, 10, MONTH_MINUTES)
  const shared = createMemoryWindows(systemClock, 10, MONTH_MINUTES)
  let isGone = false
  const windows = fallBackTo(own, {
    count: asked => (isGone ? null : shared.count(asked)),
    spentSeconds: window => (isGone ? 0 : shared.spentSeconds(window)),
  })
  const window = { name: 'client', limit: 3 }
  const left = async () => (await windows.count([window])).remaining
  expect(await left()).toBe(2)
  isGone = true
  expect([await left(), await left()]).toEqual([2, 1])
  expect(windows.spentSeconds(window)).toBe(0)
  expect(await left()).toBe(0)
  expect(windows.spentSeconds(window)).toBeGreaterThan(0)
  isGone = false
  expect(await left()).toBe(1)
})

describe('decideCount', () => {
  test.for([
    { left: [3, 2], only: [false, false], expected: { isAccepted: true, limit: 20, remaining: 1 } },
    { left: [2, 2], only: [false, false], expected: { isAccepted: true, limit: 10, remaining: 1 } },
    { left: [3, 0], only: [false, false], expected: { isAccepted: false, limit: 20, remaining: 0 } },
    { left: [3, -4], only: [false, false], expected: { isAccepted: false, limit: 20, remaining: 0 } },
    { left: [3, 1], only: [false, true], expected: { isAccepted: true, limit: 10, remaining: 2 } },
    { left: [3, 0], only: [false, true], expected: { isAccepted: false, limit: 20, remaining: 0 } },
    { left: [3, 1], only: [true, true], expected: { isAccepted: true, limit: 10, remaining: 3 } },
  ])('of $left left, of which $only are only checked', ({ left, only, expected }) => {
    const windows = [10, 20].map((limit, nth) => ({ name: `${nth}`, limit, isOnlyChecked: only[nth]! }))
    expect(decideCount(windows, left, 7)).toEqual({ ...expected, resetSeconds: 7 })
  })
})
