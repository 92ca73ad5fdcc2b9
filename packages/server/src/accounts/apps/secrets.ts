import { createSecretKey } from 'node:crypto'
import type { Db } from '../../database/pool.ts'
import { requireSealedValue } from '../../database/sealed-value.ts'
import type { KeyRing } from '../../kit/key-ring.ts'
import { seal, unseal } from '../../kit/seal.ts'
import { Secret } from '../../kit/secret.ts'

/** The row that a secret is bound to. */
interface OwnApp {
  id: string
  tenantId: string
}

/** Client secrets and private keys of apps at rest: sealed with a key of the installation, which the key ring wraps. */
export interface AppSecrets {
  seal(app: OwnApp, secret: Secret): Buffer
  /** Throws `SealError` if it does not open: the row was changed, or belongs to another installation. */
  open(app: OwnApp, sealed: Buffer): Secret
}

export async function openAppSecrets(db: Db, keyRing: KeyRing): Promise<AppSecrets> {
  const key = createSecretKey(await requireSealedValue(db, keyRing, 'oauth_app_key'))
  return {
    seal: (app, secret) => seal(key, Buffer.from(secret.reveal()), contextOf(app)),
    open: (app, sealed) => new Secret(unseal(key, sealed, contextOf(app)).toString()),
  }
}

function contextOf({ id, tenantId }: OwnApp): string[] {
  return [tenantId, 'oauth_app', 'secret', id]
}
