import type { Scope } from '@waxwing/contract/operation.ts'
import { type Selectable, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { COLUMNS, type PlanTable } from '../../../database/tables.ts'
import { newId } from '../../../kit/ids.ts'
import type { Credential, Rates } from '../../../calls/credential.ts'
import { type CredentialKind, digestCredential, makeCredential } from './rules.ts'

const TOKEN_BATCH_ROWS = 2000

/** A stored credential, with the columns that decide whether it is still valid. */
export interface StoredCredential {
  tenantId: string
  credential: Credential
  rates: Rates | null
  digest: Buffer
  expiresAt: Date | null
  lastUsedAt: Date | null
  /** Revoked, or its tenant is suspended. For an account token also: its account is deleted, or its key is revoked. */
  isRevoked: boolean
}

/** Creates an API key. Its text is returned only here; only the digest is stored. */
export async function createApiKey(
  db: Db,
  pepper: Buffer,
  key: {
    tenantId: string
    name: string
    scopes: Scope[]
    accountIds: string[] | null
    expiresAt: Date | null
  },
): Promise<{ id: string; text: string }> {
  const id = newId()
  const text = makeCredential('api_key', id)
  await db
    .insertInto('api_key')
    .values({
      id,
      tenant_id: key.tenantId,
      name: key.name,
      scopes: key.scopes,
      account_ids: key.accountIds,
      expires_at: key.expiresAt,
      digest: digestCredential(pepper, text),
    })
    .execute()
  return { id, text }
}

/** Lists the keys of a tenant, newest first, including revoked ones. */
export async function listApiKeys(db: Db, tenantId: string) {
  return db
    .selectFrom('api_key')
    .select(['id', 'name', 'scopes', 'account_ids', 'expires_at', 'revoked_at', 'last_used_at', 'created_at'])
    .where('tenant_id', '=', tenantId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

/**
 * Revokes a key of any tenant, for the operator, or leaves it revoked. Returns the id of its tenant, or null if there is
 * no such key.
 */
export async function revokeApiKey(db: Db, id: string): Promise<string | null> {
  const row = await db
    .updateTable('api_key')
    .set({ revoked_at: sql`coalesce(revoked_at, now())` })
    .where('id', '=', id)
    .returning('tenant_id')
    .executeTakeFirst()
  return row?.tenant_id ?? null
}

/** Returns the ids that are not a live account of the tenant. */
export async function listMissingAccounts(db: Db, tenantId: string, ids: string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('account')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('deleted_at', 'is', null)
    .execute()
  return ids.filter(id => !rows.some(row => row.id === id))
}

/**
 * Creates an account token. It is valid until `expiresAt`, until its account is deleted or until the key that mints it
 * ends, whichever comes first. Returns the earlier expiry of token and key.
 */
export async function createAccountToken(
  db: Db,
  pepper: Buffer,
  token: { apiKeyId: string; accountId: string; scopes: readonly Scope[]; expiresAt: Date },
): Promise<{ id: string; text: string; expiresAt: Date }> {
  const id = newId()
  const text = makeCredential('account_token', id)
  const { expires_at: expiresAt } = await db
    .insertInto('account_token')
    .columns(['id', 'tenant_id', 'account_id', 'api_key_id', 'scopes', 'digest', 'expires_at'])
    .expression(
      db
        .selectFrom('api_key')
        .select(({ val }) => [
          val(id).as('id'),
          'api_key.tenant_id',
          val(token.accountId).as('account_id'),
          'api_key.id as api_key_id',
          sql<string[]>`${[...token.scopes]}::text[]`.as('scopes'),
          val(digestCredential(pepper, text)).as('digest'),
          sql<Date>`least(${token.expiresAt}::timestamptz, api_key.expires_at)`.as('expires_at'),
        ])
        .where('api_key.id', '=', token.apiKeyId),
    )
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { id, text, expiresAt }
}

/** Deletes the tokens of an account. */
export async function deleteTokensOf(db: Db, accountId: string): Promise<void> {
  await db.deleteFrom('account_token').where('account_id', '=', accountId).execute()
}

/** Deletes account tokens that have expired, of every tenant. They are refused from the second of their expiry anyway. */
export async function deleteExpiredTokens(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const expired = db
      .selectFrom('account_token')
      .select('id')
      .where('expires_at', '<', sql<Date>`clock_timestamp()`)
      .limit(TOKEN_BATCH_ROWS)
    const { numDeletedRows } = await db
      .deleteFrom('account_token')
      .where('id', 'in', expired)
      .executeTakeFirst()
    if (numDeletedRows < TOKEN_BATCH_ROWS) return
  }
}

/** Looks a credential up by its id alone. The caller must compare the digest. */
export async function findCredential(
  db: Db,
  kind: CredentialKind,
  id: string,
): Promise<StoredCredential | null> {
  return kind === 'api_key' ? findApiKey(db, id) : findAccountToken(db, id)
}

async function findApiKey(db: Db, id: string): Promise<StoredCredential | null> {
  const row = await db
    .selectFrom('api_key')
    .innerJoin('tenant', 'tenant.id', 'api_key.tenant_id')
    .leftJoin('plan', 'plan.id', 'tenant.plan_id')
    .select(COLUMNS.api_key)
    .select(['tenant.suspended_at', ...RATE_COLUMNS])
    .where('api_key.id', '=', id)
    .executeTakeFirst()
  if (!row) return null
  return {
    tenantId: row.tenant_id,
    credential: {
      kind: 'api_key',
      id,
      label: row.name,
      scopes: row.scopes as Scope[],
      accountIds: row.account_ids,
    },
    rates: ratesOf(row),
    digest: row.digest,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    isRevoked: row.revoked_at !== null || row.suspended_at !== null,
  }
}

async function findAccountToken(db: Db, id: string): Promise<StoredCredential | null> {
  const row = await db
    .selectFrom('account_token')
    .innerJoin('tenant', 'tenant.id', 'account_token.tenant_id')
    .innerJoin('account', 'account.id', 'account_token.account_id')
    .innerJoin('api_key', 'api_key.id', 'account_token.api_key_id')
    .leftJoin('plan', 'plan.id', 'tenant.plan_id')
    .select(COLUMNS.account_token)
    .select(['tenant.suspended_at', 'account.deleted_at', ...RATE_COLUMNS])
    .select([
      'api_key.name as key_name',
      'api_key.scopes as key_scopes',
      'api_key.account_ids as key_account_ids',
      'api_key.expires_at as key_expires_at',
      'api_key.revoked_at as key_revoked_at',
    ])
    .where('account_token.id', '=', id)
    .executeTakeFirst()
  if (!row) return null
  const { key_expires_at: keyExpiresAt } = row
  const isKeyForAccount = row.key_account_ids?.includes(row.account_id) ?? true
  return {
    tenantId: row.tenant_id,
    credential: {
      kind: 'account_token',
      id,
      label: row.key_name,
      // Narrowing a key narrows its tokens.
      scopes: row.scopes.filter(scope => row.key_scopes.includes(scope)) as Scope[],
      accountIds: [row.account_id],
    },
    rates: ratesOf(row),
    digest: row.digest,
    expiresAt: keyExpiresAt && keyExpiresAt < row.expires_at ? keyExpiresAt : row.expires_at,
    lastUsedAt: null,
    isRevoked:
      row.suspended_at !== null || row.deleted_at !== null || row.key_revoked_at !== null || !isKeyForAccount,
  }
}

const RATE_COLUMNS = ['plan.api_calls_per_minute', 'plan.api_calls_per_minute_per_key'] as const

type RateColumns = Pick<Selectable<PlanTable>, 'api_calls_per_minute' | 'api_calls_per_minute_per_key'>

function ratesOf(row: RateColumns): Rates | null {
  const { api_calls_per_minute: perTenant, api_calls_per_minute_per_key: perCredential } = row
  return perTenant === null && perCredential === null ? null : { perTenant, perCredential }
}

/**
 * Lists which of the keys and account tokens are not valid any more: revoked, expired, of a suspended tenant, or
 * refused by `findAccountToken`.
 */
export async function listEndedCredentials(db: Db, ids: readonly string[], now: Date): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select given.id from unnest(${[...ids]}::uuid[]) as given (id)
    where not exists (
      select from api_key join tenant on tenant.id = api_key.tenant_id
      where api_key.id = given.id and api_key.revoked_at is null and tenant.suspended_at is null
        and coalesce(api_key.expires_at > ${now}, true)
    ) and not exists (
      select from account_token
        join tenant on tenant.id = account_token.tenant_id
        join account on account.id = account_token.account_id
        join api_key on api_key.id = account_token.api_key_id
      where account_token.id = given.id and account_token.expires_at > ${now} and tenant.suspended_at is null
        and account.deleted_at is null and api_key.revoked_at is null
        and coalesce(api_key.expires_at > ${now}, true)
        and coalesce(account_token.account_id = any(api_key.account_ids), true)
    )
  `.execute(db)
  return rows.map(({ id }) => id)
}

/** Records that a key was used, at most once a minute. */
export async function recordKeyUse(db: Db, id: string): Promise<void> {
  await db
    .updateTable('api_key')
    .set({ last_used_at: sql`now()` })
    .where('id', '=', id)
    .where(sql<boolean>`last_used_at is null or last_used_at < now() - interval '1 minute'`)
    .execute()
}
