import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { silentLog } from '../kit/log.ts'
import { contract } from '@waxwing/contract/contract.ts'
import { type LoadClass, loadClassOf, watchOverload } from './overload.ts'

describe('watchOverload', () => {
  test('reports an event loop that is late for two seconds, and its recovery', async () => {
    using overload = watchOverload(() => 0, silentLog)
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
    using overload = watchOverload(database.waitMilliseconds, silentLog)
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
    using overload = watchOverload(() => milliseconds, silentLog)
    const classes: LoadClass[] = ['costly', 'read', 'write']
    expect(classes.filter(one => overload.isOverloaded(one))).toEqual(refused)
  })
})

test('searches are refused first, reads next, and what writes or sends last', () => {
  const classOf = (operation: { '~orpc': { meta: Parameters<typeof loadClassOf>[0] } }) =>
    loadClassOf(operation['~orpc'].meta)
  expect(classOf(contract.search.messages)).toBe('costly')
  expect(classOf(contract.messages.list)).toBe('read')
  expect(classOf(contract.messages.update)).toBe('write')
  expect(classOf(contract.outbox.create)).toBe('write')
})
