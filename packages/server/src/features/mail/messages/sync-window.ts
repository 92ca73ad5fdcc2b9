import { type RawBuilder, sql } from 'kysely'

/**
 * The instant at which the sync window of the account begins: `-infinity` if it keeps the full history. The index holds
 * older messages for as long as no pass has taken them out. With `tenantId`, it is null for an account that is not a
 * live one of this tenant, so that nothing lies within.
 */
export function windowStart(accountId: string, tenantId?: string): RawBuilder<Date> {
  const isOwn =
    tenantId === undefined ? sql`` : sql` and account.tenant_id = ${tenantId} and account.deleted_at is null`
  return sql`(
    select coalesce(
      now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
      '-infinity'
    )
    from account join tenant on tenant.id = account.tenant_id where account.id = ${accountId}${isOwn}
  )`
}
