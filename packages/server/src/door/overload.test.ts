import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { silentLog } from '../kit/log.ts'
import { watchOverload } from './overload.ts'

describe('watchOverload', () => {
  test('reports an event loop that is late for two seconds, and its recovery', async () => {
    using overload = watchOverload(() => 0, silentLog)
    const blockedAt = performance.now()
    expect(overload.isOverloaded()).toBe(false)
    while (!overload.isOverloaded()) {
      const until = performance.now() + 300
      while (performance.now() < until);
      await sleep(1)
      if (performance.now() - blockedAt > 10_000) throw new Error('It noticed nothing for 10 s')
    }
    expect(performance.now() - blockedAt).toBeGreaterThan(1500)
    await expect.poll(() => overload.isOverloaded(), { timeout: 60_000 }).toBe(false)
  })

  test('reports a half-second wait for a database connection', async () => {
    await using database = await openTestDatabase({ connectionsMax: 1 })
    using overload = watchOverload(database.waitMilliseconds, silentLog)
    const held = Promise.withResolvers<void>()
    const holding = database.db.connection().execute(() => held.promise)
    const waiting = sql`select 1`.execute(database.db)
    expect(overload.isOverloaded()).toBe(false)
    await expect.poll(() => overload.isOverloaded(), { timeout: 60_000 }).toBe(true)

    held.resolve()
    await holding
    await waiting
    expect(overload.isOverloaded()).toBe(false)
    expect(database.waitMilliseconds()).toBe(0)
  })
})
