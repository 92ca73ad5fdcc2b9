import { sql } from 'kysely'
import type { HalfKind } from '../src/accounts/halves/kind.ts'
import { RESTART } from '../src/accounts/halves/wanted.ts'
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

/**
 * Gives an account another half, with the owner of the account, as a wing that begins to follow it does.
 * @param wanted by default a restart, with which its runner begins
 */
export async function addHalf(
  db: Db,
  accountId: string,
  kind: HalfKind,
  wanted: readonly string[] = [RESTART],
): Promise<void> {
  await sql`
    insert into account_half (account_id, tenant_id, kind, owner_instance, owner_epoch, sync_wanted)
    select id, tenant_id, ${kind}, owner_instance, owner_epoch, ${[...wanted]}::text[] from account
    where id = ${accountId}
  `.execute(db)
}
