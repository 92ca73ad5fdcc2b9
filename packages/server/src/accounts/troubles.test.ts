/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { newId } from '../kit/ids.ts'
import { hasRole } from '../processes/list-instances.ts'
import { measureTroubles } from './troubles.ts'

test('counts accounts that are not followed, fail or lag, and the longest duration; ignores stopped ones', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const tenant = await sampleTenant(db)
  const suspended = await sampleTenant(db)
  await db.updateTable('tenant').set({ suspended_at: new Date() }).where('id', '=', suspended.id).execute()
  const addInstance = async (heartbeat: string) => {
    const [id, until] = [newId(), sql<Date>`clock_timestamp() + ${heartbeat}::interval`]
    const startedAt = sql<Date>`clock_timestamp() - interval '1 day'`
    await db.insertInto('instance').values({ id, heartbeat_until: until, started_at: startedAt }).execute()
    return id
  }
  const [live, dead] = [await addInstance('10 seconds'), await addInstance('-300 seconds')]
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000)

  await sampleAccount(db, tenant.id, { owner_instance: live })
  await sampleAccount(db, tenant.id, { owner_instance: live, behind_since: ago(60) })
  await sampleAccount(db, tenant.id, { owner_instance: live, behind_since: ago(900) })
  await sampleAccount(db, tenant.id, {
    owner_instance: live,
    behind_since: ago(5_000),
    failing_since: ago(50),
  })
  await sampleAccount(db, tenant.id, { owner_instance: live, behind_since: ago(20), failing_since: ago(20) })
  await sampleAccount(db, tenant.id, { owner_instance: dead })
  await sampleAccount(db, tenant.id, { updated_at: ago(1_000) })
  await sampleAccount(db, tenant.id, { updated_at: ago(5), behind_since: ago(200) })
  for (const values of [{ status: 'paused' as const }, { deleted_at: new Date() }])
    await sampleAccount(db, tenant.id, { ...values, updated_at: ago(9_000), behind_since: ago(9_000) })
  await sampleAccount(db, suspended.id, { updated_at: ago(9_000) })

  await sql`update instance set heartbeat_until = clock_timestamp() + interval '10 seconds' where id = ${live}`.execute(
    db,
  )
  const { unfollowed, failing, lagging } = await measureTroubles(db)
  expect([unfollowed.count, failing.count, lagging.count]).toEqual([3, 2, 1])
  expect(unfollowed.oldestSeconds).toBeCloseTo(1_000, -2)
  expect(failing.oldestSeconds).toBeCloseTo(50, -2)
  expect(lagging.oldestSeconds).toBeCloseTo(900, -2)
})

test.each([
  [['api', 'sync'], '10 seconds', true],
  [['api', 'jobs'], '10 seconds', false],
  [['sync'], '-1 second', false],
])(
  'whether a process with the roles %j and a lease of %s follows accounts: %s',
  async (roles, lease, follows) => {
    await using database = await openTestDatabase()
    const heartbeat_until = sql<Date>`clock_timestamp() + ${lease}::interval`
    await database.db.insertInto('instance').values({ id: newId(), heartbeat_until, roles }).execute()
    expect(await hasRole(database.db, 'sync')).toBe(follows)
  },
)
