import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { connectWithGrant } from '../../src/features/accounts/accounts/connect-with-grant.ts'
import { accountKeys } from '../../src/accounts/secrets.ts'
import { Secret } from '../../src/kit/secret.ts'
import type { TestApp } from '../open-app.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { SCOPES } from './gmail-client.ts'

const GRANTED_SECONDS = 3_000

/** The client that every sandbox accepts. */
export const SANDBOX_CLIENT = { clientId: 'sandbox', clientSecret: 'sandbox-secret' }

/**
 * Connects a mailbox of the sandbox, as a user would who signed in. Without an app it is the operator's.
 * @returns the account's id
 */
export async function connectGmail(
  app: TestApp,
  sandbox: SandboxServer,
  email: string,
  appId: string | null = null,
): Promise<string> {
  const { accessToken, refreshToken } = await sandbox.grant(email, SCOPES)
  const { clientId, clientSecret } = SANDBOX_CLIENT
  const account = await inTransaction(app.db, app.tenantId, unit =>
    connectWithGrant({ ...unit, wake: () => {} }, accountKeys(app.keyRing), {
      asked: { calendar: true, contacts: true },
      client: {
        provider: 'google',
        cloud: null,
        appId,
        clientId,
        credential: { type: 'secret', secret: new Secret(clientSecret) },
        scopes: null,
      },
      grant: {
        accessToken: new Secret(accessToken),
        expiresInSeconds: GRANTED_SECONDS,
        refreshToken: new Secret(refreshToken),
        scopes: [...SCOPES],
        halves: { calendar: 'none', contacts: 'none' },
        identity: { subject: `google:${email}`, email, displayName: null },
      },
      settings: { syncWindowDays: null },
    }),
  )
  await wakeSync(app.db, account.id)
  return account.id
}

/** Wakes the sync for a new account, as the service does after its commit. Without that, it finds it after seconds. */
export async function wakeSync(db: Db, accountId: string): Promise<void> {
  await sql`select pg_notify('waxwing_wake', ${accountId})`.execute(db)
}
