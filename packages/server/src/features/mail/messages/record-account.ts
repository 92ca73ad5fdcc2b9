import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { refuse } from '../../refuse.ts'
import type { MailAccount } from './rules.ts'

/**
 * What recording needs to know of an account. Call it in a statement after the one that took a lock on the account's row:
 * so it sees what was committed while that one waited.
 */
export async function loadMailAccount(unit: UnitOfWork, accountId: string): Promise<MailAccount> {
  const { rows } = await sql<{
    email: string
    initialized_at: Date | null
    look: number
    has_missing: boolean
    identities: string[]
  }>`
    select email, initialized_at, look::float8 as look,
      exists (select from message where account_id = account.id and missing_look is not null) as has_missing,
      array(select compared_address from identity where account_id = account.id) as identities
    from account where id = ${accountId}
  `.execute(unit.sql)
  const row = rows[0]!
  return {
    id: accountId,
    tenantId: unit.tenantId,
    addresses: new Set([comparedAddress(row.email), ...row.identities]),
    isInitialized: row.initialized_at !== null,
    hasMissing: row.has_missing,
    look: row.look,
  }
}

/**
 * Takes the account for one change of its mail by the interface. Until the commit neither the sync nor another change by
 * the interface records anything of it, so the transaction must be short: ask the provider before it. Refuses an account
 * that was deleted in the meantime.
 */
export async function lockMailAccount(unit: UnitOfWork, accountId: string): Promise<MailAccount> {
  const { rows } = await sql`
    select from account where id = ${accountId} and tenant_id = ${unit.tenantId} and deleted_at is null
    for no key update
  `.execute(unit.sql)
  if (rows.length === 0) refuse('account_not_found')
  return loadMailAccount(unit, accountId)
}
