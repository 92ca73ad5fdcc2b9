/** @module-tag postgres-16 */
import { describe, expect, test } from 'vitest'
import { useTestDatabase } from '../../../../test/use-database.ts'
import { newId } from '../../../kit/ids.ts'
import { createTenant } from '../tenants/store.ts'
import { createAuthenticator } from './authenticate.ts'
import { makeCredential } from './rules.ts'
import { createAccountToken, createApiKey, listApiKeys, revokeApiKey } from './store.ts'

const PEPPER = Buffer.alloc(32, 7)

const database = useTestDatabase()

async function openAuthenticator() {
  const { db } = database()
  const tenant = await createTenant(db, newId())
  if (!tenant) throw new Error('A tenant has this name already')
  let now = Date.now()
  const authenticator = createAuthenticator({ db, pepper: PEPPER, clock: { now: () => now } })
  return {
    db,
    tenantId: tenant.id,
    now: () => now,
    pass: (seconds: number) => void (now += seconds * 1000),
    authenticate: async (text: string) => (await authenticator.present(text)?.authenticate()) ?? null,
    createKey: (expiresAt: Date | null = null) =>
      createApiKey(db, PEPPER, {
        tenantId: tenant.id,
        name: 'test',
        scopes: ['read'],
        accountIds: null,
        expiresAt,
      }),
  }
}

describe('createAuthenticator', () => {
  test('accepts a key with its scopes and accounts, and stores nothing that could be used as a key', async () => {
    const service = await openAuthenticator()
    const key = await service.createKey()

    expect(await service.authenticate(key.text)).toEqual({
      outcome: 'accepted',
      tenantId: service.tenantId,
      credential: { kind: 'api_key', id: key.id, label: 'test', scopes: ['read'], accountIds: null },
      rates: null,
    })
    const keys = service.db.selectFrom('api_key').where('id', '=', key.id)
    const stored = await keys.selectAll().executeTakeFirstOrThrow()
    const secret = key.text.split('_')[2] ?? ''
    expect(JSON.stringify(stored)).not.toContain(secret)
    expect(stored.digest).toHaveLength(32)
  })

  test('refuses a secret of another key under the id of a live one, and an id that does not exist', async () => {
    const service = await openAuthenticator()
    const key = await service.createKey()

    expect(await service.authenticate(makeCredential('api_key', key.id))).toEqual({ outcome: 'refused' })
    expect(await service.authenticate(makeCredential('api_key', newId()))).toEqual({ outcome: 'refused' })
    expect(await service.authenticate(makeCredential('account_token', key.id))).toEqual({
      outcome: 'refused',
    })
  })

  test('refuses a revoked key within 5 seconds', async () => {
    const service = await openAuthenticator()
    const key = await service.createKey()
    expect(await service.authenticate(key.text)).toMatchObject({ outcome: 'accepted' })

    expect(await revokeApiKey(service.db, key.id)).toBe(service.tenantId)
    service.pass(5)

    expect(await service.authenticate(key.text)).toEqual({ outcome: 'refused' })
  })

  test('distinguishes an expired key from a wrong one, starting with the second of its expiry', async () => {
    const service = await openAuthenticator()
    const key = await service.createKey(new Date(service.now() + 2000))
    expect(await service.authenticate(key.text)).toMatchObject({ outcome: 'accepted' })

    service.pass(2)

    expect(await service.authenticate(key.text)).toEqual({ outcome: 'expired' })
    expect(await service.authenticate(makeCredential('api_key', key.id))).toEqual({ outcome: 'refused' })
  })

  test('refuses every credential of a suspended tenant', async () => {
    const service = await openAuthenticator()
    const key = await service.createKey()
    const tenant = service.db.updateTable('tenant').where('id', '=', service.tenantId)
    await tenant.set({ suspended_at: new Date() }).execute()

    expect(await service.authenticate(key.text)).toEqual({ outcome: 'refused' })
  })

  test('binds an account token to its account and refuses it once it expired or its account is deleted', async () => {
    const service = await openAuthenticator()
    const accountId = newId()
    await service.db
      .insertInto('account')
      .values({
        id: accountId,
        tenant_id: service.tenantId,
        provider: 'imap',
        email: 'ada@example.com',
        auth_method: 'password',
      })
      .execute()
    const key = await service.createKey()
    const create = (seconds: number) =>
      createAccountToken(service.db, PEPPER, {
        apiKeyId: key.id,
        accountId,
        scopes: ['read'],
        expiresAt: new Date(service.now() + seconds * 1000),
      })
    const [short, long] = [await create(60), await create(3600)]
    expect(await service.authenticate(short.text)).toMatchObject({
      outcome: 'accepted',
      credential: { kind: 'account_token', accountIds: [accountId] },
    })

    service.pass(60)
    expect(await service.authenticate(short.text)).toEqual({ outcome: 'refused' })
    expect(await service.authenticate(long.text)).toMatchObject({ outcome: 'accepted' })

    await service.db.updateTable('account').set({ deleted_at: new Date() }).execute()
    service.pass(5)
    expect(await service.authenticate(long.text)).toEqual({ outcome: 'refused' })
  })

  test('looks a key up once for many simultaneous requests, and records its use once a minute', async () => {
    const service = await openAuthenticator()
    const key = await service.createKey()

    await Promise.all(Array.from({ length: 16 }, () => service.authenticate(key.text)))
    const [first] = await listApiKeys(service.db, service.tenantId)
    expect(first?.last_used_at).not.toBeNull()

    service.pass(6)
    await service.authenticate(key.text)
    const [second] = await listApiKeys(service.db, service.tenantId)
    expect(second?.last_used_at).toEqual(first?.last_used_at)
  })
})
