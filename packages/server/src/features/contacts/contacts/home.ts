import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/** The place that the contacts of an account in the index come from; null if it has none yet. */
export async function findHome(db: Db, accountId: string): Promise<string | null> {
  const row = await db
    .selectFrom('contact_home')
    .select('home')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row?.home ?? null
}

export async function storeHome(unit: UnitOfWork, accountId: string, home: string | null): Promise<void> {
  await (
    home === null
      ? sql`delete from contact_home where account_id = ${accountId}`
      : sql`
        insert into contact_home (account_id, home) values (${accountId}, ${home})
        on conflict (account_id) do update set home = excluded.home`
  ).execute(unit.sql)
}
