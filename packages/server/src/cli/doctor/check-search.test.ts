import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../../test/sample-rows.ts'
import { checkSearch } from './check-search.ts'

test('doctor counts the accounts whose index is not rewritten yet', async () => {
  await using database = await openTestDatabase()
  const { id: tenantId } = await sampleTenant(database.db)
  await sampleAccount(database.db, tenantId)
  expect(await checkSearch(database)).toMatchObject([{ state: 'ok' }])
  await sampleAccount(database.db, tenantId, { search_version: 0 })
  await sampleAccount(database.db, tenantId, { search_version: 0, deleted_at: new Date() })
  expect(await checkSearch(database)).toMatchObject([
    { check: 'search', state: 'warning', message: expect.stringContaining('of 1 account is not') },
  ])
  await database.pool.query('delete from schema_migration where version > 1')
  expect(await checkSearch(database)).toEqual([])
})
