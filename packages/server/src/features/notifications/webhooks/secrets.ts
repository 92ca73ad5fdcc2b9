import { createSecretKey, randomBytes } from 'node:crypto'
import type { Db } from '../../../database/pool.ts'
import { requireSealedValue } from '../../../database/sealed-value.ts'
import type { KeyRing } from '../../../kit/key-ring.ts'
import { seal, unseal } from '../../../kit/seal.ts'
import { Secret } from '../../../kit/secret.ts'

const SECRET_BYTES = 32
/** The beginning of a secret in text (Standard Webhooks). The rest is its bytes in base64. */
const PREFIX = 'whsec_'

/** The row that a secret is bound to. */
interface OwnEndpoint {
  id: string
  tenantId: string
}

/** Secrets of endpoints at rest: sealed with a key of the installation, which the key ring wraps. */
export interface WebhookKeys {
  /** Makes a secret, as it is stored and as its receiver is given it. */
  create(endpoint: OwnEndpoint): { sealed: Buffer; text: Secret }
  /** The bytes that deliveries are signed with. Throws `SealError`. */
  open(endpoint: OwnEndpoint, sealed: Buffer): Buffer
}

export async function openWebhookKeys(db: Db, keyRing: KeyRing): Promise<WebhookKeys> {
  const key = createSecretKey(await requireSealedValue(db, keyRing, 'webhook_key'))
  return {
    create(endpoint) {
      const secret = randomBytes(SECRET_BYTES)
      return {
        sealed: seal(key, secret, contextOf(endpoint)),
        text: new Secret(`${PREFIX}${secret.toString('base64')}`),
      }
    },
    open: (endpoint, sealed) => unseal(key, sealed, contextOf(endpoint)),
  }
}

/** A rotated secret moves to another column of its row, so the context names the row only. */
function contextOf({ id, tenantId }: OwnEndpoint): string[] {
  return [tenantId, 'webhook_endpoint', 'secret', id]
}
