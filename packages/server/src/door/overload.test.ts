import { constants, type NodeGCPerformanceDetail, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestApp } from '../../test/open-app.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { openLog, silentLog } from '../kit/log.ts'
import { collectGarbage, type MemoryUse } from '../kit/own-memory.ts'
import { contract } from '@waxwing/contract/contract.ts'
import { type LoadClass, loadClassOf } from './load-class.ts'
import { watchOverload } from './overload.ts'

const CLASSES: LoadClass[] = ['costly', 'read', 'write']
const NO_LOAD = {
  poolWaitMilliseconds: () => 0,
  readMemory: (): MemoryUse => ({ of: 'heap', bytes: 0, bytesMax: 1 }),
  log: silentLog,
}
const MEGABYTE = 1024 * 1024

describe('watchOverload', () => {
  test('reports an event loop that is late for two seconds, and its recovery', async () => {
    using overload = watchOverload(NO_LOAD)
    const blockedAt = performance.now()
    expect(overload.isOverloaded('read')).toBe(false)
    while (!overload.isOverloaded('read')) {
      const until = performance.now() + 300
      while (performance.now() < until);
      await sleep(1)
      if (performance.now() - blockedAt > 60_000) throw new Error('It noticed nothing for a minute')
    }
    expect(performance.now() - blockedAt).toBeGreaterThan(1500)
    await expect.poll(() => overload.isOverloaded('read'), { timeout: 60_000 }).toBe(false)
  })

  test('reports a half-second wait for a database connection', async () => {
    await using database = await openTestDatabase({ connectionsMax: 1 })
    using overload = watchOverload({ ...NO_LOAD, poolWaitMilliseconds: database.waitMilliseconds })
    const held = Promise.withResolvers<void>()
    const holding = database.db.connection().execute(() => held.promise)
    const waiting = sql`select 1`.execute(database.db)
    expect(overload.isOverloaded('read')).toBe(false)
    await expect.poll(() => overload.isOverloaded('read'), { timeout: 60_000 }).toBe(true)

    held.resolve()
    await holding
    await waiting
    expect(overload.isOverloaded('read')).toBe(false)
    expect(database.waitMilliseconds()).toBe(0)
  })

  test.each<[milliseconds: number, refused: LoadClass[]]>([
    [250, []],
    [251, ['costly']],
    [500, ['costly']],
    [501, ['costly', 'read']],
    [1_000, ['costly', 'read']],
    [1_001, ['costly', 'read', 'write']],
  ])('when a request has waited %d ms for a connection, refuses %j', (milliseconds, refused) => {
    using overload = watchOverload({ ...NO_LOAD, poolWaitMilliseconds: () => milliseconds })
    expect(CLASSES.filter(one => overload.isOverloaded(one))).toEqual(refused)
  })
})

test('collects garbage when memory runs short, however little the process does', async () => {
  const collected = Promise.withResolvers<void>()
  const observer = new PerformanceObserver(list => {
    const { NODE_PERFORMANCE_GC_MAJOR, NODE_PERFORMANCE_GC_FLAGS_FORCED } = constants
    // The types of Node.js lack the detail.
    for (const entry of list.getEntries() as unknown as { detail: NodeGCPerformanceDetail }[]) {
      const { kind, flags = 0 } = entry.detail
      const isForced = (flags & NODE_PERFORMANCE_GC_FLAGS_FORCED) > 0
      if (kind === NODE_PERFORMANCE_GC_MAJOR && isForced) collected.resolve()
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  using _overload = watchOverload({
    ...NO_LOAD,
    readMemory: () => ({ of: 'heap', bytes: 81, bytesMax: 100 }),
  })
  await collected.promise
  observer.disconnect()
})

test('a service whose memory comes near its limit refuses requests until it has less in use', async () => {
  let bytesMax = Number.POSITIVE_INFINITY
  const readMemory = (): MemoryUse => ({ of: 'container memory', bytes: process.memoryUsage.rss(), bytesMax })
  const lines: string[] = []
  const log = openLog({
    level: 'warn',
    format: 'json',
    destination: { write: line => void lines.push(line) },
  })
  using overload = watchOverload({ ...NO_LOAD, readMemory, log })
  await using app = await openTestApp({ overload })
  const ask = async () => {
    const answers = [
      await app.get('/v1/accounts'),
      await app.patch('/v1/settings', { trackOpens: true }),
      await app.get('/health/live'),
    ]
    return answers.map(({ status, body }) => body['code'] ?? status)
  }
  const answersBecome = (expected: readonly unknown[]) =>
    waitUntil(`the answers ${expected.join()}`, async () => isDeepStrictEqual(await ask(), expected))
  await answersBecome([200, 200, 200])

  // The garbage that there is already has little effect on what follows.
  collectGarbage()
  bytesMax = (process.memoryUsage.rss() + 150 * MEGABYTE) / 0.85
  // Pieces of this size are given back to the system one by one.
  let inUse = Array.from({ length: 10 }, () => Buffer.alloc(40 * MEGABYTE, 1))
  await answersBecome(['overloaded', 'overloaded', 200])
  expect(lines.join('')).toContain('"reason":"container memory"')
  expect(inUse).toHaveLength(10)
  inUse = []
  await answersBecome([200, 200, 200])
})

test('searches are refused first, reads next, and what writes or sends last', () => {
  const classOf = (operation: { '~orpc': { meta: Parameters<typeof loadClassOf>[0] } }) =>
    loadClassOf(operation['~orpc'].meta)
  expect(classOf(contract.search.messages)).toBe('costly')
  expect(classOf(contract.messages.list)).toBe('read')
  expect(classOf(contract.messages.update)).toBe('write')
  expect(classOf(contract.outbox.create)).toBe('write')
})
