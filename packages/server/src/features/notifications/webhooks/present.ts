import type { WebhookEndpoint } from '@waxwing/contract/notifications/webhooks.ts'
import type { EndpointRow } from './store.ts'

export function presentEndpoint(row: EndpointRow): WebhookEndpoint {
  const { id, url, description, filters, isEnabled, disabledReason } = row
  return {
    id,
    url,
    description,
    filters,
    isEnabled,
    disabledReason,
    lastSuccessAt: row.lastSuccessAt?.toISOString() ?? null,
    failingSince: row.failingSince?.toISOString() ?? null,
    previousSecretExpiresAt: row.previousSecretExpiresAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  }
}
