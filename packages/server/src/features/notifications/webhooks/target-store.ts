import { createSecretKey, type KeyObject } from 'node:crypto'
import { sql } from 'kysely'
import { isOneOf } from '../../../database/one-of.ts'
import type { Db } from '../../../database/pool.ts'
import type { Logger } from '../../../kit/log.ts'
import type { WebhookKeys } from './secrets.ts'

/** An endpoint as a dispatcher needs it. */
export interface EndpointTarget {
  id: string
  tenantId: string
  url: URL
  /** The keys to sign with, the current one first. The previous one signs too until it expires. */
  signingKeys: readonly KeyObject[]
}

interface StoredTarget {
  id: string
  tenantId: string
  url: string
  secret: Buffer
  previousSecret: Buffer | null
}

/**
 * Reads endpoints with their secrets, by their ids. Leaves out deleted endpoints, and endpoints whose secret does not
 * open.
 */
export async function findTargets(
  db: Db,
  { keys, log }: { keys: WebhookKeys; log: Logger },
  endpointIds: readonly string[],
): Promise<Map<string, EndpointTarget>> {
  const { rows } = await sql<StoredTarget>`
    select id, tenant_id as "tenantId", url, secret,
      case when previous_secret_expires_at > clock_timestamp() then previous_secret end as "previousSecret"
    from webhook_endpoint where ${isOneOf('id', endpointIds)}
  `.execute(db)
  const targets = new Map<string, EndpointTarget>()
  for (const row of rows) {
    const { id, tenantId, url, secret, previousSecret } = row
    try {
      const sealed = previousSecret ? [secret, previousSecret] : [secret]
      const signingKeys = sealed.map(one => createSecretKey(keys.open(row, one)))
      targets.set(id, { id, tenantId, url: new URL(url), signingKeys })
    } catch (error) {
      log.error({ error, endpointId: id }, 'The secret of a webhook endpoint cannot be opened')
    }
  }
  return targets
}
