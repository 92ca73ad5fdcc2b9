import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import { type RawBuilder, sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../../calls/refuse.ts'
import { endpointColumns, type EndpointRow } from './store.ts'

export interface NewEndpoint {
  id: string
  url: string
  description: string | null
  filters: WebhookFilters
  sealedSecret: Buffer
}

export async function recordEndpoint(unit: UnitOfWork, endpoint: NewEndpoint): Promise<EndpointRow> {
  const { id, url, description, filters, sealedSecret } = endpoint
  const { rows } = await sql<EndpointRow>`
    insert into webhook_endpoint (id, tenant_id, url, description, filters, secret, from_event_id)
    values (${id}, ${unit.tenantId}, ${url}, ${description}, ${JSON.stringify(filters)}, ${sealedSecret},
      ${newestEvent(unit.tenantId)})
    returning ${endpointColumns}
  `.execute(unit.sql)
  return required(rows)
}

/** Fields of an endpoint that a request can change. */
export interface EndpointChange {
  url: string
  description: string | null
  filters: WebhookFilters
  isEnabled: boolean
  /** Whether the endpoint starts again without the marks of its failures. */
  isCleared: boolean
}

/** Writes a change of a locked endpoint. Events from the time in which it was disabled are not delivered. */
export async function recordChangedEndpoint(
  unit: UnitOfWork,
  before: EndpointRow,
  after: EndpointChange,
): Promise<EndpointRow> {
  const isBegun = after.isEnabled && !before.isEnabled
  const { rows } = await sql<EndpointRow>`
    update webhook_endpoint set url = ${after.url}, description = ${after.description},
      filters = ${JSON.stringify(after.filters)}, is_enabled = ${after.isEnabled}
      ${after.isCleared ? sql`, failing_since = null, disabled_reason = null` : sql``}
      ${isBegun ? sql`, from_event_id = ${newestEvent(unit.tenantId)}` : sql``}
    where tenant_id = ${unit.tenantId} and id = ${before.id}
    returning ${endpointColumns}
  `.execute(unit.sql)
  return required(rows)
}

/** The replaced secret goes on for `graceSeconds`, and one that was replaced before ends. */
export async function recordNewSecret(
  unit: UnitOfWork,
  id: string,
  { sealedSecret, graceSeconds }: { sealedSecret: Buffer; graceSeconds: number },
): Promise<EndpointRow> {
  const { rows } = await sql<EndpointRow>`
    update webhook_endpoint set secret = ${sealedSecret},
      previous_secret = ${graceSeconds === 0 ? sql`null` : sql`secret`},
      previous_secret_expires_at =
        ${graceSeconds === 0 ? sql`null` : sql`clock_timestamp() + make_interval(secs => ${graceSeconds})`}
    where tenant_id = ${unit.tenantId} and id = ${id}
    returning ${endpointColumns}
  `.execute(unit.sql)
  return required(rows)
}

export async function removeEndpoint(unit: UnitOfWork, id: string): Promise<void> {
  const { numAffectedRows = 0n } = await sql`
    delete from webhook_endpoint where tenant_id = ${unit.tenantId} and id = ${id}
  `.execute(unit.sql)
  if (numAffectedRows === 0n) refuse('webhook_endpoint_not_found')
}

/** Events that are committed later have greater ids. */
function newestEvent(tenantId: string): RawBuilder<string> {
  return sql`coalesce((select id from event where tenant_id = ${tenantId} order by event.id desc limit 1), 0)`
}

function required(rows: readonly EndpointRow[]): EndpointRow {
  return rows[0] ?? refuse('webhook_endpoint_not_found')
}
