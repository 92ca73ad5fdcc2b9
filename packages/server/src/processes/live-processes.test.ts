import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { PATIENT_LEASE } from '../../test/patient-lease.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { silentLog } from '../kit/log.ts'
import { Instance } from './instance.ts'
import { LiveProcesses, shareOf } from './live-processes.ts'
import { Pulse } from './pulse.ts'

const PULSE_SECONDS = 0.05

/** Starts processes on one database, each with its own view of the others. */
async function openProcesses() {
  const database = await openTestDatabase()
  const { db, address } = database
  async function start(...roles: string[]) {
    const own = new AsyncDisposableStack()
    const facts = { roles, host: 'test', version: '0.0.0' }
    const instance = own.use(
      await Instance.start({ address, log: silentLog, facts, isAlone: false, pace: PATIENT_LEASE }),
    )
    const pulse = own.use(new Pulse(db, silentLog, PULSE_SECONDS))
    const live = own.use(await LiveProcesses.start({ db, instance, pulse, log: silentLog }))
    let changes = 0
    live.onChange(() => changes++)
    return { live, changes: () => changes, [Symbol.asyncDispose]: () => own.disposeAsync() }
  }
  return { db, start, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

test('each process counts the live ones, with their roles, as they come and go', async () => {
  await using processes = await openProcesses()
  await using first = await processes.start('api')
  expect([first.live.count, first.live.countOthers('api'), first.live.shareFor('sync')(10)]).toEqual([
    1, 0, 10,
  ])

  const second = await processes.start('api', 'sync')
  await using third = await processes.start('sync')
  expect([third.live.count, third.live.countOthers('sync'), third.live.countOthers('api')]).toEqual([3, 1, 2])
  await waitUntil('the others to know', () =>
    Promise.resolve(first.live.count === 3 && second.live.count === 3),
  )
  const shares = (role: string) => [first, second, third].map(({ live }) => live.shareFor(role)(12))
  expect(shares('sync')).toEqual([2, 5, 5])
  expect(shares('jobs')).toEqual([4, 4, 4])
  expect(first.changes()).toBeGreaterThan(0)

  await second[Symbol.asyncDispose]()
  await waitUntil('the others to know', () =>
    Promise.resolve(first.live.count === 2 && third.live.count === 2),
  )
  expect(first.live.countOthers('api')).toBe(0)
})

test('a process that died is forgotten when its lease has ended', async () => {
  await using processes = await openProcesses()
  const { db } = processes
  const id = '00000000-0000-7000-8000-000000000000'
  const until = sql<Date>`clock_timestamp() + interval '50 seconds'`
  await db
    .insertInto('instance')
    .values({ id, heartbeat_until: until, roles: ['api'] })
    .execute()
  await using one = await processes.start('api')
  expect(one.live.countOthers('api')).toBe(1)
  const now = sql<Date>`clock_timestamp()`
  await db.updateTable('instance').set({ heartbeat_until: now }).where('id', '=', id).execute()
  await waitUntil('the end of the lease', () => Promise.resolve(one.live.count === 1))
})

describe('shareOf', () => {
  test.for([
    { weights: [1] },
    { weights: [1, 1, 1] },
    { weights: [4, 1] },
    { weights: [1, 4, 1, 4, 1] },
    { weights: Array.from({ length: 100 }, (_, rank) => (rank % 3 === 0 ? 4 : 1)) },
  ])('divides every limit among processes by $weights', ({ weights }) => {
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    for (let limit = 1; limit <= 250; limit++) {
      const shares = weights.map((_, rank) => shareOf(limit, weights, rank))
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(Math.max(limit, weights.length))
      for (const [rank, weight] of weights.entries()) {
        const exact = 1 + (Math.max(0, limit - weights.length) * weight) / total
        expect(shares[rank]).toBeGreaterThanOrEqual(Math.floor(exact))
        expect(shares[rank]).toBeLessThanOrEqual(Math.ceil(exact))
      }
    }
  })
})
