import type { DisabledReason } from '@waxwing/contract/notifications/webhooks.ts'
import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import { sql } from 'kysely'
import { isOneOf } from '../../../database/one-of.ts'
import type { Db } from '../../../database/pool.ts'
import { isUuid } from '../../../kit/ids.ts'

export interface EndpointRow {
  id: string
  url: string
  description: string | null
  filters: WebhookFilters
  isEnabled: boolean
  disabledReason: DisabledReason | null
  lastSuccessAt: Date | null
  failingSince: Date | null
  /** Null as soon as it is over. */
  previousSecretExpiresAt: Date | null
  createdAt: Date
}

export const endpointColumns = sql.raw(
  'id, url, description, filters, is_enabled as "isEnabled", disabled_reason as "disabledReason", ' +
    'last_success_at as "lastSuccessAt", failing_since as "failingSince", case when previous_secret_expires_at > ' +
    'clock_timestamp() then previous_secret_expires_at end as "previousSecretExpiresAt", created_at as "createdAt"',
)

/** Lists every endpoint of a tenant, newest first. */
export async function listEndpoints(db: Db, tenantId: string): Promise<EndpointRow[]> {
  const { rows } = await sql<EndpointRow>`
    select ${endpointColumns} from webhook_endpoint where tenant_id = ${tenantId}
    order by created_at desc, id desc
  `.execute(db)
  return rows
}

/** @param lock keeps others from changing it until the transaction ends */
export async function findEndpoint(
  db: Db,
  tenantId: string,
  id: string,
  { lock = false } = {},
): Promise<EndpointRow | null> {
  if (!isUuid(id)) return null
  const { rows } = await sql<EndpointRow>`
    select ${endpointColumns} from webhook_endpoint where tenant_id = ${tenantId} and id = ${id}
    ${lock ? sql`for no key update` : sql``}
  `.execute(db)
  return rows[0] ?? null
}

export async function countEndpoints(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from webhook_endpoint where tenant_id = ${tenantId}
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** The given accounts that are live accounts of the tenant. */
export async function findLiveAccounts(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    select id from account where tenant_id = ${tenantId} and deleted_at is null and ${isOneOf('id', ids)}
  `.execute(db)
  return new Set(rows.map(({ id }) => id))
}

/** The accounts of the mailboxes that belong to the tenant, by the ids of the mailboxes. */
export async function findLiveMailboxes(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; accountId: string }>`
    select mailbox.id, account_id as "accountId" from mailbox join account on account.id = mailbox.account_id
    where account.tenant_id = ${tenantId} and account.deleted_at is null and not mailbox.is_deleted
      and ${isOneOf('mailbox.id', ids)}
  `.execute(db)
  return new Map(rows.map(({ id, accountId }) => [id, accountId]))
}
