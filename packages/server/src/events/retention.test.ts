import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleTenant } from '../../test/sample-rows.ts'
import type { Db } from '../database/pool.ts'
import { deleteOldEvents } from './retention.ts'

const NEVER = new AbortController().signal

/** Adds events of the tenant, one for each hour, oldest first. */
async function addEvents(db: Db, tenantId: string, count: number) {
  await sql`
    insert into event (tenant_id, id, type, data, created_at)
    select ${tenantId}::uuid, nextval('event_id'), 'account.updated', '{}', now() - make_interval(hours => ${count} - n)
    from generate_series(1, ${count}) as n
  `.execute(db)
}

async function countEvents(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from event where tenant_id = ${tenantId}`.execute(db)
  return rows[0]?.count ?? -1
}

describe('deleteOldEvents', () => {
  test('deletes events older than the retention in batches, and none of another tenant', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const [mine, other] = [(await sampleTenant(db)).id, (await sampleTenant(db)).id]
    await addEvents(db, mine, 5000)
    await addEvents(db, other, 1000)

    expect(await deleteOldEvents(db, mine, 7, NEVER)).toBe(5000 - 7 * 24)
    expect(await countEvents(db, mine)).toBe(7 * 24)
    expect(await countEvents(db, other)).toBe(1000)
    expect(await deleteOldEvents(db, mine, 7, NEVER)).toBe(0)
  })

  test('leaves what is before an id to the drop of its partition, but not in the default partition', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const { id } = await sampleTenant(db)
    await addEvents(db, id, 200)
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'event'::regclass and pg_get_expr(relpartbound, pg_class.oid) <> 'DEFAULT'
    `.execute(db)
    for (const { name } of rows.slice(1)) await sql`drop table ${sql.table(name)}`.execute(db)
    await sql`select setval('event_id', 5000000)`.execute(db)
    await addEvents(db, id, 5000)
    expect(await deleteOldEvents(db, id, 7, NEVER, '6000000')).toBe(5000 - 7 * 24)
    expect(await countEvents(db, id)).toBe(200 + 7 * 24)
  })

  test('stops when the signal aborts', async () => {
    await using database = await openTestDatabase()
    const { id } = await sampleTenant(database.db)
    await addEvents(database.db, id, 1000)
    expect(await deleteOldEvents(database.db, id, 7, AbortSignal.abort())).toBe(0)
  })
})
