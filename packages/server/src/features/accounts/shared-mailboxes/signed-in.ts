import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { AccountKind } from '../../../providers/abilities.ts'
import type { SharedMailbox } from '../../../providers/sharing.ts'

/**
 * Finds the account of a mailbox that signs in for itself, by its inbox, since a mailbox has several addresses. Null if
 * there is none, or if its mailboxes were not listed yet.
 */
export async function findAccountIdByInbox(
  db: Db,
  { tenantId, provider }: { tenantId: string; provider: AccountKind },
  { inboxKey }: SharedMailbox,
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select account.id from account
    join mailbox on mailbox.account_id = account.id and mailbox.provider_key = ${inboxKey}
    where account.tenant_id = ${tenantId} and account.provider = ${provider} and account.auth_method <> 'delegate'
      and account.deleted_at is null
    limit 1
  `.execute(db)
  return rows[0]?.id ?? null
}
