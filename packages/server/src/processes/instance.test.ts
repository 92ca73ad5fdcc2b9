/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestApp } from '../../test/open-app.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { PATIENT_LEASE } from '../../test/patient-lease.ts'
import { waitUntil } from '../../test/wait-until.ts'
import product from '../../package.json' with { type: 'json' }
import type { Db } from '../database/pool.ts'
import type { Role } from '../config/settings.ts'
import { silentLog } from '../kit/log.ts'
import { Instance } from './instance.ts'
import { isLive } from './lease.ts'

const FACTS = { roles: ['jobs'], host: 'a.test', version: '1.2.3' }

interface Registered {
  id: string
  roles: string[]
  host: string | null
  version: string | null
  is_live: boolean
}

async function listInstances(db: Db): Promise<Registered[]> {
  const { rows } = await sql<Registered>`
    select id, roles, host, version, ${isLive} as is_live from instance order by started_at`.execute(db)
  return rows
}

async function start(database: Awaited<ReturnType<typeof openTestDatabase>>, isAlone = false) {
  const { address } = database
  return Instance.start({ address, log: silentLog, facts: FACTS, isAlone, pace: PATIENT_LEASE })
}

test.each<Role[][]>([[['api']], [['jobs']], [['api', 'sync']]])(
  'a process with the roles %j is registered while it runs',
  async roles => {
    await using database = await openTestDatabase()
    {
      await using _app = await openTestApp({ roles, database })
      expect(await listInstances(database.db)).toEqual([
        {
          id: expect.any(String),
          roles,
          host: expect.stringMatching(/./),
          version: product.version,
          is_live: true,
        },
      ])
    }
    expect(await listInstances(database.db)).toEqual([])
  },
)

test('a lapsed lease is never renewed: the process registers under another id', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  await using instance = await start(database)
  const first = instance.lease!
  expect(await listInstances(db)).toMatchObject([{ id: first.id, ...FACTS, is_live: true }])

  await sql`update instance set heartbeat_until = clock_timestamp() - interval '1 second'`.execute(db)
  await waitUntil('the lapse', () => Promise.resolve(first.lapsed.aborted))
  const second = await instance.awaitLease(AbortSignal.timeout(30_000))
  expect(second.id).not.toBe(first.id)
  expect(instance.lease).toBe(second)
  const live = (await listInstances(db)).filter(({ is_live }) => is_live)
  expect(live.map(({ id }) => id)).toEqual([second.id])
})

test('a process that starts before its table exists registers as soon as it can', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  await sql`alter table instance rename to hidden`.execute(db)
  await using instance = await start(database)
  expect(instance.lease).toBeNull()
  const given = new AbortController()
  const gaveUp = instance.awaitLease(given.signal).then(
    () => false,
    () => true,
  )
  given.abort()
  expect(await gaveUp).toBe(true)

  const awaited = instance.awaitLease(AbortSignal.timeout(30_000))
  await sql`alter table hidden rename to instance`.execute(db)
  expect((await awaited).lapsed.aborted).toBe(false)
})

test('a process that is alone ends the leases of all others', async () => {
  await using database = await openTestDatabase()
  await using one = await start(database)
  await using other = await start(database)
  const others = new Set([one.lease!.id, other.lease!.id])
  await using alone = await start(database, true)
  const live = (await listInstances(database.db)).filter(({ is_live }) => is_live).map(({ id }) => id)
  expect(live).toContain(alone.lease!.id)
  expect(live.filter(id => others.has(id))).toEqual([])
})
