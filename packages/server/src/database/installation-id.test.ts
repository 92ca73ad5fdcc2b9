import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { findInstallationId } from './installation-id.ts'

test('every database has its own lasting id, which a role without superuser rights can read', async () => {
  await using one = await openTestDatabase({ connectionsMax: 1 })
  await using other = await openTestDatabase({ connectionsMax: 1 })
  const id = await findInstallationId(one.pool)
  expect(id).toMatch(/^[0-9a-f]{64}$/)
  expect(await findInstallationId(other.pool)).not.toBe(id)

  await one.pool.query('set role pg_read_all_data')
  expect(await findInstallationId(one.pool)).toBe(id)

  await one.pool.query('reset role; revoke execute on function pg_control_system() from public')
  await one.pool.query('set role pg_read_all_data')
  expect(await findInstallationId(one.pool)).toBeNull()
})
