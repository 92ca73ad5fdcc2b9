import { Kysely, PostgresDialect, sql } from 'kysely'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleTenant } from '../../../../test/sample-rows.ts'
import { clientSettings, type Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import { readFeed } from './store.ts'

/** The plan of the statement as it is run, with a plan for its values or for any. */
async function planOf(pool: Pool, run: (db: Db) => Promise<unknown>, mode: 'custom' | 'generic') {
  const statements: { sql: string; parameters: readonly unknown[] }[] = []
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: event => void statements.push(event.query),
  })
  await run(db)
  const [statement] = statements
  const values = statement!.parameters.map(value =>
    Array.isArray(value) ? `'{${value.join(',')}}'` : `'${String(value)}'`,
  )
  await pool.query(`set plan_cache_mode = force_${mode}_plan`)
  await pool.query(`prepare page_${mode} as ${statement!.sql}`)
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, costs off, timing off, summary off) execute page_${mode} (${values.join(', ')})`,
  )
  await pool.query('deallocate all')
  return rows.map(row => row['QUERY PLAN'])
}

test('a page reads no partition before its cursor, in any plan that the server may choose', async () => {
  await using database = await openTestDatabase()
  const { db, address } = database
  const { id: tenantId } = await sampleTenant(db)
  for (const firstId of ['1', '1000000', '2000000']) {
    await sql`select setval('event_id', ${firstId}, false)`.execute(db)
    await sql`
      insert into event (tenant_id, id, type, data)
      select ${tenantId}::uuid, nextval('event_id'), 'account.updated', '{}' from generate_series(1, 2000)
    `.execute(db)
  }
  await sql`analyze event`.execute(db)
  // One connection, since prepared statements belong to it.
  const pool = new Pool({ ...clientSettings(address, 'waxwing test'), max: 1 })
  for (const types of [null, ['account.updated'] as const]) {
    for (const mode of ['custom', 'generic'] as const) {
      const filter = { tenantId, accountIds: null, types }
      const plan = await planOf(pool, own => readFeed(own, filter, '2000010', 50), mode)
      const read = plan.filter(line => /Scan .*on event_\w+/.test(line) && !/never executed/.test(line))
      expect(read.join('\n')).toMatch(/event_2000000/)
      expect(read.join('\n')).not.toMatch(/event_first|event_1000000/)
    }
  }
  await pool.end()
})
