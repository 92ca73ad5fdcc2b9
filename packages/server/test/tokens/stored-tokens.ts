import { accountKeys } from '../../src/accounts/secrets.ts'
import type { TestApp } from '../open-app.ts'

/** The tokens of an account that are stored now, opened. */
export async function storedTokens(
  { db, keyRing }: Pick<TestApp, 'db' | 'keyRing'>,
  accountId: string,
): Promise<{ accessToken: string; refreshToken: string }> {
  const row = await db
    .selectFrom('oauth_grant')
    .innerJoin('account', 'account.id', 'account_id')
    .select(['oauth_grant.id as grantId', 'access_token', 'refresh_token', 'data_key', 'tenant_id'])
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  const { tenant_id, data_key, grantId } = row
  const sealing = accountKeys(keyRing).tokenSealing({ id: accountId, tenant_id, data_key }, grantId)
  const open = (kind: 'access_token' | 'refresh_token') => sealing.open(row[kind], kind).reveal()
  return { accessToken: open('access_token'), refreshToken: open('refresh_token') }
}
