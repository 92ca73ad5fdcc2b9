import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { type Kysely, type Transaction, sql } from 'kysely'
import { holdKeyRing } from '../database/sealed-value.ts'
import type { Tables } from '../database/tables.ts'
import type { Sealing } from '../kit/blobs/sealed-frames.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import { SEAL_KEY_BYTES, SealError, seal, unseal } from '../kit/seal.ts'
import { Secret } from '../kit/secret.ts'

export type SecretName = 'imap_password' | 'smtp_password' | 'dav_password'

/** Seals and opens the tokens of one grant. */
export interface TokenSealing {
  seal(token: Secret, kind: TokenKind): Buffer
  /** Throws `SealError`. */
  open(sealed: Uint8Array, kind: TokenKind): Secret
}
export type TokenKind = 'refresh_token' | 'access_token'

/** The columns of an account that its secrets are bound to. */
export interface KeyedAccount {
  id: string
  tenant_id: string
  data_key: Buffer | null
}

/** An account's secrets at rest: each sealed with the account's own data key, which the key ring wraps. */
export interface AccountKeys {
  /** Creates a wrapped data key for an account that is inserted in the same transaction. */
  createDataKey(tx: Transaction<Tables>, account: { id: string; tenant_id: string }): Promise<Buffer>
  storeSecret(tx: Transaction<Tables>, account: KeyedAccount, name: SecretName, secret: Secret): Promise<void>
  removeSecret(tx: Transaction<Tables>, account: KeyedAccount, name: SecretName): Promise<void>
  /** Returns null if none is stored. Throws `SealError` if it does not open: a wrong key ring, or a changed row. */
  findSecret(db: Kysely<Tables>, account: KeyedAccount, name: SecretName): Promise<Secret | null>
  /** Throws `SealError` after the purge. */
  tokenSealing(account: KeyedAccount, grantId: string): TokenSealing
  /** Returns the sealing of a stored message, which opens only as that message. Throws `SealError` after the purge. */
  blobSealing(account: KeyedAccount): (messageId: string) => Sealing
  /** As `blobSealing`, of the photo of a contact. */
  photoSealing(account: KeyedAccount): (photoId: string) => Sealing
  /** As `blobSealing`, of the content of a send. */
  outboxSealing(account: KeyedAccount): (contentId: string) => Sealing
  /** As `blobSealing`, of the links of a send. */
  linksSealing(account: KeyedAccount): (outboxId: string) => Sealing
}

export function accountKeys(ring: KeyRing): AccountKeys {
  const opened = openedKeys(ring)
  return {
    async createDataKey(tx, account) {
      await holdKeyRing(tx)
      return ring.seal(randomBytes(SEAL_KEY_BYTES), dataKeyContext(account))
    },

    async storeSecret(tx, account, name, secret) {
      const sealed = seal(
        dataKeyOf(ring, account),
        Buffer.from(secret.reveal()),
        secretContext(account, name),
      )
      await tx
        .insertInto('account_secret')
        .values({ account_id: account.id, name, sealed })
        .onConflict(target =>
          target.columns(['account_id', 'name']).doUpdateSet({ sealed, updated_at: sql`now()` }),
        )
        .execute()
    },

    async removeSecret(tx, account, name) {
      await tx
        .deleteFrom('account_secret')
        .where('account_id', '=', account.id)
        .where('name', '=', name)
        .execute()
    },

    tokenSealing(account, grantId) {
      const key = dataKeyOf(ring, account)
      const contextOf = (kind: TokenKind) => [account.tenant_id, 'oauth_grant', kind, account.id, grantId]
      return {
        seal: (token, kind) => seal(key, Buffer.from(token.reveal()), contextOf(kind)),
        open: (sealed, kind) => new Secret(unseal(key, sealed, contextOf(kind)).toString()),
      }
    },

    blobSealing: account => sealingOf(opened(account), account, 'message_blob'),

    photoSealing: account => sealingOf(opened(account), account, 'contact_photo'),

    linksSealing: account => sealingOf(opened(account), account, 'tracked_send'),

    outboxSealing: account => sealingOf(opened(account), account, 'outbox_content'),

    async findSecret(db, account, name) {
      const row = await db
        .selectFrom('account_secret')
        .select('sealed')
        .where('account_id', '=', account.id)
        .where('name', '=', name)
        .executeTakeFirst()
      if (!row) return null
      return new Secret(unseal(dataKeyOf(ring, account), row.sealed, secretContext(account, name)).toString())
    },
  }
}

/** A value that changes whenever a secret of the account is stored or removed. */
export async function findSecretsStamp(db: Kysely<Tables>, accountId: string): Promise<string | null> {
  const { rows } = await sql<{ stamp: string | null }>`
    select md5(string_agg(sealed, ''::bytea order by name)) as stamp
    from account_secret where account_id = ${accountId}
  `.execute(db)
  return rows[0]?.stamp ?? null
}

/** The context that the wrapped data key of an account is bound to. */
export function dataKeyContext(account: { id: string; tenant_id: string }): string[] {
  return [account.tenant_id, 'account', 'data_key', account.id]
}

function sealingOf(key: KeyObject, account: KeyedAccount, table: string): (id: string) => Sealing {
  return id => ({ key, context: [account.tenant_id, table, account.id, id] })
}

function secretContext(account: KeyedAccount, name: SecretName): string[] {
  return [account.tenant_id, 'account_secret', 'sealed', account.id, name]
}

function dataKeyOf(ring: KeyRing, account: KeyedAccount): Buffer {
  if (!account.data_key) throw new SealError('The account has no data key any more')
  return ring.open(account.data_key, dataKeyContext(account))
}

const KEPT_SECONDS = 60
const KEPT_MAX = 1_000

/**
 * Opens data keys, and keeps each for a minute: with many small messages of an account, opening it took as long as sealing
 * their content.
 */
function openedKeys(ring: KeyRing): (account: KeyedAccount) => KeyObject {
  const kept = new Map<string, { key: KeyObject; until: number }>()
  return account => {
    const wrapped = account.data_key?.toString('base64') ?? ''
    const name = [account.tenant_id, account.id, wrapped].join(' ')
    const now = performance.now()
    const known = kept.get(name)
    if (known && known.until > now) return known.key
    // Taken as bytes, each use of it would cost more than what it seals.
    const key = createSecretKey(dataKeyOf(ring, account))
    kept.delete(name)
    kept.set(name, { key, until: now + KEPT_SECONDS * 1_000 })
    // The oldest are the first.
    for (const [oldest, { until }] of kept) {
      if (until > now && kept.size <= KEPT_MAX) break
      kept.delete(oldest)
    }
    return key
  }
}
