import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'
import { accountKeys } from '../src/accounts/secrets.ts'
import { newId } from '../src/kit/ids.ts'
import type { KeyRing } from '../src/kit/key-ring.ts'
import { Secret } from '../src/kit/secret.ts'

/** Inserts IMAP accounts as the API stores them, without a login of each. Their users are `0@…`, `1@…` and so on. */
export async function insertImapAccounts(
  { db, keyRing, tenantId }: { db: Db; keyRing: KeyRing; tenantId: string },
  { count, domain, port }: { count: number; domain: string; port: number },
): Promise<void> {
  const keys = accountKeys(keyRing)
  await db.transaction().execute(async transaction => {
    for (let number = 0; number < count; number++) {
      const account = { id: newId(), tenant_id: tenantId }
      const user = `${number}@${domain}`
      const data_key = await keys.createDataKey(transaction, account)
      const imap = JSON.stringify({
        imap: { host: '127.0.0.1', port, security: 'none', user },
        smtp: null,
        auth: 'password',
        appendSent: true,
        dav: null,
      })
      const created_at = sql<Date>`date_trunc('milliseconds', clock_timestamp())`
      const row = { ...account, provider: 'imap' as const, email: user, imap, data_key, created_at }
      await transaction
        .insertInto('account')
        .values({ ...row, auth_method: 'password' })
        .execute()
      await transaction
        .insertInto('account_half')
        .values({ account_id: account.id, tenant_id: tenantId, kind: 'mail' })
        .execute()
      await keys.storeSecret(transaction, { ...account, data_key }, 'imap_password', new Secret('secret'))
    }
  })
}
