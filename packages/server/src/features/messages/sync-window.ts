import { type RawBuilder, sql } from 'kysely'

/**
 * The instant at which the sync window of the account begins: `-infinity` where it keeps the full history. The index
 * holds older messages for as long as no pass has taken them out.
 */
export function windowStart(accountId: string): RawBuilder<Date> {
  return sql`(
    select coalesce(
      now() - ((tenant.settings || account.settings_override) ->> 'syncWindowDays')::int * interval '24 hours',
      '-infinity'
    )
    from account join tenant on tenant.id = account.tenant_id where account.id = ${accountId}
  )`
}
