import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'

/** Gives an account the half of its calendars, with the owner of its mail, as a wing of calendars would. */
export async function addCalendarHalf(db: Db, accountId: string): Promise<void> {
  await sql`
    insert into account_half (account_id, tenant_id, kind, owner_instance, owner_epoch)
    select account_id, tenant_id, 'calendar', owner_instance, owner_epoch from account_half
    where account_id = ${accountId} and kind = 'mail'
  `.execute(db)
}
