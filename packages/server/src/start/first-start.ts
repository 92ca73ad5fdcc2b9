import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import { createApiKey } from '../features/credentials/store.ts'
import { createTenant } from '../features/tenants/store.ts'

const FIRST_START_LOCK = 0x57_41_58_46

/**
 * In an installation without any tenant: makes the tenant `default` and one API key with every scope, and returns the
 * key. Null at every later start. Of several processes that start at once, one gets the key.
 */
export async function makeFirstKey(db: Db, pepper: Buffer): Promise<string | null> {
  return db.transaction().execute(async tx => {
    await sql`select pg_advisory_xact_lock(${FIRST_START_LOCK})`.execute(tx)
    const known = await tx.selectFrom('tenant').select('id').limit(1).executeTakeFirst()
    const tenant = known ? null : await createTenant(tx, 'default')
    if (!tenant) return null
    const { text } = await createApiKey(tx, pepper, {
      tenantId: tenant.id,
      name: 'first key',
      scopes: ['read', 'write', 'send', 'admin'],
      accountIds: null,
      expiresAt: null,
    })
    return text
  })
}

/** What the first start tells whoever started it. */
export function welcome(key: string, baseUrl: string): string {
  return `
Waxwing is ready at ${baseUrl}

Your API key, shown only this once (tenant "default", every scope):

  ${key}

Try it:

  curl -H 'Authorization: Bearer ${key}' ${baseUrl}/v1/accounts

Connect a mailbox (its servers are logged in to before it is stored):

  curl -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
    ${baseUrl}/v1/imap-accounts -d '{
      "email": "you@example.com", "password": "…",
      "imap": {"host": "imap.example.com", "port": 993},
      "smtp": {"host": "smtp.example.com", "port": 465}
    }'

Every operation, to read and to try: ${baseUrl}/docs
More keys: npx waxwing key create --help. Settings: docs/configuration.md.

`
}
