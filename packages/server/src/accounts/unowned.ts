import { sql } from 'kysely'

/** An active account without an owner. */
export const isUnowned = sql<boolean>`account.owner_instance is null and account.status = 'active' and account.deleted_at is null`

/**
 * A query of the tenants that have such accounts, with null at its end, for `with recursive unowned (tenant_id)`. It
 * goes from tenant to tenant in the index and reads one account of each.
 */
export const unownedTenants = sql`
  (select tenant_id from account where ${isUnowned} order by tenant_id limit 1)
  union all
  select (
    select account.tenant_id from account
    where account.tenant_id > unowned.tenant_id and ${isUnowned} order by account.tenant_id limit 1
  ) from unowned where unowned.tenant_id is not null`
