import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { SCOPES } from '@waxwing/contract/operation.ts'
import { sql } from 'kysely'
import { requireSealedValue } from '../database/sealed-value.ts'
import { recordOperatorAction } from '../features/tenancy/audit-log/record-rows.ts'
import { createApiKey } from '../features/tenancy/credentials/store.ts'
import { createTenant } from '../features/tenancy/tenants/store.ts'
import type { Logger } from '../kit/log.ts'
import { makeFolder } from '../kit/make-folder.ts'
import type { Installation } from '../start/database.ts'

/** Where the first key goes: to a terminal, whose reader is there, or else to a file. Never into a log. */
export type FirstKeyPlace = { print(text: string): void } | { folder: string; log: Logger }

const FIRST_START_LOCK = 0x57_41_58_46
const FILE_NAME = 'first-api-key'

/**
 * In an installation without any tenant: makes the tenant `default`, and one API key with every scope. Does nothing at every later start. Of several processes that start at once, one does it.
 */
export async function welcomeFirst(
  { database: { db }, keyRing }: Pick<Installation, 'database' | 'keyRing'>,
  baseUrl: string,
  place: FirstKeyPlace,
): Promise<void> {
  const pepper = await requireSealedValue(db, keyRing, 'credential_pepper')
  const key = await db.transaction().execute(async tx => {
    await sql`select pg_advisory_xact_lock(${FIRST_START_LOCK})`.execute(tx)
    const known = await tx.selectFrom('tenant').select('id').limit(1).executeTakeFirst()
    const tenant = known ? null : await createTenant(tx, 'default')
    if (!tenant) return null
    const tenantId = tenant.id
    await recordOperatorAction(tx, { tenantId, action: 'tenant.create', targets: { tenantId } })
    const makeKey = async () => {
      const scopes = [...SCOPES]
      const all = { tenantId, name: 'first key', scopes, accountIds: null, expiresAt: null }
      const { id, text } = await createApiKey(tx, pepper, all)
      await recordOperatorAction(tx, { tenantId, action: 'api_key.create', targets: { apiKeyId: id } })
      return text
    }
    if ('print' in place) return makeKey()
    // Before the commit: a key that nobody was given is of no use.
    const file = await openFile(place)
    if (file) await file.write(await makeKey())
    return null
  })
  if (key !== null && 'print' in place) place.print(welcome(key, baseUrl))
}

/** Null, with a line in the log, where no file can be made. */
async function openFile({ folder, log }: { folder: string; log: Logger }) {
  const file = path.join(folder, FILE_NAME)
  try {
    await makeFolder(folder, 0o700)
    // A file that is there may have been opened to others.
    await rm(file, { force: true })
    await writeFile(file, '', { mode: 0o600, flag: 'wx' })
  } catch (error) {
    log.warn(
      { error },
      `No API key was made, since the file ${file} cannot be written. Make one with: npx waxwing key create`,
    )
    return null
  }
  return {
    async write(key: string) {
      await writeFile(file, `${key}\n`, { flush: true })
      log.warn(`The first API key (tenant "default", every scope) is in the file ${file}. Keep it elsewhere.`)
    },
  }
}

/** Text of the first start for the operator. */
function welcome(key: string, baseUrl: string): string {
  return `
Waxwing is ready at ${baseUrl}

Your API key, shown only this once (tenant "default", every scope):

  ${key}

Try it:

  export WAXWING_KEY=${key}
  curl -H "Authorization: Bearer $WAXWING_KEY" ${baseUrl}/v1/accounts

Connect a mailbox (its servers are logged in to before it is stored):

  curl -H "Authorization: Bearer $WAXWING_KEY" -H 'Content-Type: application/json' \\
    ${baseUrl}/v1/imap-accounts -d '{
      "email": "you@example.com", "password": "…",
      "imap": {"host": "imap.example.com", "port": 993},
      "smtp": {"host": "smtp.example.com", "port": 465}
    }'

Mail of the last 90 days is synced. For more, change syncWindowDays: see the README.

Every operation, to read and to try: ${baseUrl}/docs
More keys: npx waxwing key create --help. Settings: docs/configuration.md.

`
}
