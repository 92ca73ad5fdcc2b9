import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../../test/caller.ts'
import { openTestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { newId } from '../../../kit/ids.ts'

/** Milliseconds by which the clock of the service is ahead of the system's. */
let passed = 0
const { newTenant } = useTestApp(() => ({ clock: { now: () => Date.now() + passed } }))

describe('POST /v1/accounts/{accountId}/tokens', () => {
  test('mints a token that reads its account until the account is deleted', async () => {
    let now = Date.now()
    await using app = await openTestApp({ clock: { now: () => now } })
    const { id } = await sampleAccount(app.db, app.tenantId)
    const other = await sampleAccount(app.db, app.tenantId)

    const before = Date.now()
    const minted = await app.post<{ token: string; expiresAt: string }>(`/v1/accounts/${id}/tokens`)

    expect(minted.body.token).toMatch(/^wat_/)
    const mintedAt = Date.parse(minted.body.expiresAt) - 3_600_000
    expect(mintedAt).toBeGreaterThanOrEqual(before)
    expect(mintedAt).toBeLessThanOrEqual(Date.now())
    const token = app.as(minted.body.token)
    expect((await token.get(`/v1/accounts/${id}`)).status).toBe(200)
    expect((await token.get(`/v1/accounts/${other.id}`)).body['code']).toBe('account_token_forbidden')
    expect((await token.post(`/v1/accounts/${id}/sync`)).body['code']).toBe('account_token_forbidden')

    await app.delete(`/v1/accounts/${id}`)
    expect((await token.get(`/v1/accounts/${id}`)).status).toBe(404)
    // A credential is looked up again after at most 5 seconds.
    now += 5001
    expect((await token.get(`/v1/accounts/${id}`)).status).toBe(401)
  })

  test('has the scopes of its key, or the requested part of them', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    const path = `/v1/accounts/${id}`
    const writer = app.as((await app.createKey({ scopes: ['write'] })).text)
    const reader = app.as((await app.createKey({ scopes: ['read', 'write'] })).text)
    const mint = async (by: Caller, scopes?: string[]) =>
      (await by.post<{ token: string }>(`${path}/tokens`, scopes && { scopes })).body.token

    expect((await app.as(await mint(writer)).get(path)).body['code']).toBe('missing_scope')
    expect((await app.as(await mint(reader)).get(path)).status).toBe(200)
    expect((await app.as(await mint(reader, ['write'])).get(path)).body['code']).toBe('missing_scope')
    expect(await writer.post(`${path}/tokens`, { scopes: ['write', 'read'] })).toMatchObject({
      status: 403,
      body: { code: 'missing_scope' },
    })
  })

  test('mints a token that expires with its key, and returns when', async () => {
    let turned = 0
    await using app = await openTestApp({ clock: { now: () => Date.now() + turned } })
    const { id } = await sampleAccount(app.db, app.tenantId)
    const expiresAt = new Date(Date.now() + 600_000)
    const key = app.as((await app.createKey({ expiresAt })).text)

    const { body } = await key.post<{ token: string; expiresAt: string }>(`/v1/accounts/${id}/tokens`)

    expect(body.expiresAt).toBe(expiresAt.toISOString())
    const token = app.as(body.token)
    expect((await token.get(`/v1/accounts/${id}`)).status).toBe(200)
    turned = 600_000
    expect(await token.get(`/v1/accounts/${id}`)).toMatchObject({
      status: 401,
      body: { code: 'unauthenticated' },
    })
  })

  test.each([
    ['is revoked', { revoked_at: new Date() }, 401, 'unauthenticated'],
    ['is given an expiry that has passed', { expires_at: new Date(0) }, 401, 'unauthenticated'],
    ['is bound to other accounts', { account_ids: [newId()] }, 401, 'unauthenticated'],
    ['loses a scope', { scopes: ['write'] }, 403, 'missing_scope'],
  ])('mints a token that follows within 5 seconds when its key %s', async (_, change, status, code) => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    const { id: keyId, text } = await app.createKey()
    const minted = await app.as(text).post<{ token: string }>(`/v1/accounts/${id}/tokens`)
    const token = app.as(minted.body.token)
    expect((await token.get(`/v1/accounts/${id}`)).status).toBe(200)

    await app.db.updateTable('api_key').set(change).where('id', '=', keyId).execute()
    passed += 5001
    expect(await token.get(`/v1/accounts/${id}`)).toMatchObject({ status, body: { code } })
  })

  test('has the scopes that were requested', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)

    const { body } = await app.post<{ token: string }>(`/v1/accounts/${id}/tokens`, {
      scopes: ['send'],
      ttlSeconds: 60,
    })

    expect((await app.as(body.token).get(`/v1/accounts/${id}`)).body['code']).toBe('missing_scope')
    for (const refused of [
      { ttlSeconds: 59 },
      { ttlSeconds: 86_401 },
      { scopes: [] },
      { scopes: ['root'] },
    ]) {
      expect((await app.post(`/v1/accounts/${id}/tokens`, refused)).body['code']).toBe('invalid_input')
    }
  })
})
