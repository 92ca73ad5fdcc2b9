import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'

/** Gives accounts that a test inserted by SQL the half of their mail, with their owners. */
export async function addHalves(db: Db): Promise<void> {
  await sql`
    insert into account_half (account_id, tenant_id, kind) select id, tenant_id, 'mail' from account
    on conflict do nothing
  `.execute(db)
  await matchHalves(db)
}

/** Gives the halves the owners of their accounts, whose status or owner a test changed by SQL. */
export async function matchHalves(db: Db): Promise<void> {
  await sql`
    update account_half set owner_epoch = account.owner_epoch,
      owner_instance = case when status = 'active' and deleted_at is null then account.owner_instance end
    from account where account.id = account_id
  `.execute(db)
}
