/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { newId } from '../kit/ids.ts'
import { silentLog } from '../kit/log.ts'
import type { Database } from './pool.ts'
import { openWaker, openWakes } from './wake.ts'

/** Listens, and keeps what it heard. `listening` counts how often listening began. */
async function openListener(database: Database) {
  const heard: string[] = []
  const notices: string[][] = []
  let began = 0
  const wakes = openWakes(database.address, silentLog)
  wakes.on(['waxwing_wake'], {
    onWake(accountIds) {
      notices.push(accountIds)
      heard.push(...accountIds)
    },
    onListening: () => void began++,
  })
  await vi.waitUntil(() => began > 0, { timeout: 60_000 })
  return {
    heard,
    notices,
    wakes,
    listening: () => began,
    [Symbol.asyncDispose]: () => wakes[Symbol.asyncDispose](),
  }
}

describe('wake', () => {
  test('reaches every listener, with many accounts in few notices', async () => {
    await using database = await openTestDatabase()
    await using listener = await openListener(database)
    await using waker = openWaker(database.db, silentLog)
    const ids = Array.from({ length: 500 }, () => newId())
    for (const id of [...ids, ...ids]) waker.wake(id)

    await vi.waitUntil(() => new Set(listener.heard).size === ids.length, { timeout: 60_000 })
    // The first notice went out before that account was woken again.
    expect(listener.heard.toSorted()).toEqual([ids[0], ...ids])
    expect(listener.notices.length).toBeLessThanOrEqual(4)
  })

  test('sends pending notices before it closes', async () => {
    await using database = await openTestDatabase()
    await using listener = await openListener(database)
    const waker = openWaker(database.db, silentLog)
    waker.wake('a')
    await waker[Symbol.asyncDispose]()
    await vi.waitUntil(() => listener.heard.includes('a'), { timeout: 60_000 })
  })

  test('does not throw if the database is gone', async () => {
    const database = await openTestDatabase()
    await database[Symbol.asyncDispose]()
    await using waker = openWaker(database.db, silentLog)
    waker.wake('a')
  })
})

describe('openWakes', () => {
  test('listens again when its connection breaks, and says so', async () => {
    await using database = await openTestDatabase()
    await using listener = await openListener(database)
    await using waker = openWaker(database.db, silentLog)
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'waxwing listen' and datname = current_database()`.execute(database.db)

    await vi.waitUntil(() => listener.listening() === 2, { timeout: 60_000 })
    waker.wake('a')
    await vi.waitUntil(() => listener.heard.includes('a'), { timeout: 60_000 })
  })
  test('calls each listener for its own channels, and calls onListening of a late one at once', async () => {
    await using database = await openTestDatabase()
    await using listener = await openListener(database)
    const bodies: string[] = []
    let began = 0
    listener.wakes.on(['waxwing_body'], {
      onWake: ids => void bodies.push(...ids),
      onListening: () => void began++,
    })
    expect(began).toBe(1)
    await using waker = openWaker(database.db, silentLog)
    waker.wake('a')
    waker.wake('b', 'waxwing_body')
    await vi.waitUntil(() => listener.heard.length + bodies.length === 2, { timeout: 60_000 })
    expect([listener.heard, bodies]).toEqual([['a'], ['b']])
  })
})
