import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/** The place that the calendars of an account in the index come from; null if it has none yet. */
export async function findHome(db: Db, accountId: string): Promise<string | null> {
  const row = await db
    .selectFrom('calendar_home')
    .select('home')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row?.home ?? null
}

export async function storeHome(unit: UnitOfWork, accountId: string, home: string | null): Promise<void> {
  await sql`delete from calendar_home where account_id = ${accountId}`.execute(unit.sql)
  if (home !== null)
    await unit.sql.insertInto('calendar_home').values({ account_id: accountId, home }).execute()
}
