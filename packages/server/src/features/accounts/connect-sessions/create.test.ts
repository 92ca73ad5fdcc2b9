import type { ConnectSession } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tablesWith } from '../../../../test/database-text.ts'
import { type TestApp, openTestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { newId } from '../../../kit/ids.ts'
import { Secret } from '../../../kit/secret.ts'

const BASE = 'https://mail.example.com'
const BACK = 'https://app.example.com/connected?tab=mail'
const ALLOWED = [BACK, 'http://localhost:3000/back', 'com.example.app:/oauth']

let app: TestApp
let googleApp: OAuthApp
beforeAll(async () => {
  app = await openTestApp({ config: { baseUrl: BASE } })
  await app.patch('/v1/settings', { redirectUris: ALLOWED })
  const given = { provider: 'google', name: 'Mail', clientId: 'one', clientSecret: 'two' }
  googleApp = (await app.post<OAuthApp>('/v1/oauth-apps', given)).body
})
afterAll(() => app[Symbol.asyncDispose]())

async function sessionRows(): Promise<unknown[]> {
  const { rows } = await sql`select * from connect_session order by id`.execute(app.db)
  return rows
}

const tokenOf = (url: string) => url.slice(url.lastIndexOf('/') + 1)

describe('POST /v1/connect-sessions', () => {
  test('creates a link, whose token is kept only as a hash', async () => {
    const before = Date.now()
    const made = await app.post<{ id: string; url: string; expiresAt: string }>('/v1/connect-sessions', {
      redirectUri: BACK,
      providers: ['google'],
      externalRef: 'user-1',
      loginHint: 'ada@gmail.test',
      state: 'mine',
      options: { settings: { syncWindowDays: 30 }, passwordImap: true },
      ttlSeconds: 60,
    })
    expect(made.status).toBe(200)
    expect(made.body.url).toMatch(/^https:\/\/mail\.example\.com\/connect\/[A-Za-z0-9_-]{43}$/)
    const left = Date.parse(made.body.expiresAt) - before
    expect(left).toBeGreaterThan(50_000)
    expect(left).toBeLessThan(600_000)
    const token = tokenOf(made.body.url)
    expect(await tablesWith(app.db, token)).toEqual([])
    expect(app.logLines.join('')).not.toContain(token)

    const read = await app.get<ConnectSession>(`/v1/connect-sessions/${made.body.id}`)
    expect(read.body).toEqual({
      id: made.body.id,
      status: 'pending',
      error: null,
      accountId: null,
      email: null,
      mcpKeyId: null,
      mcpKeySkipped: null,
      expiresAt: made.body.expiresAt,
      createdAt: expect.any(String),
    })
    expect((await app.as(null).get(`/v1/hosted/connect-sessions/${token}`)).body).toEqual({
      tenantName: 'default',
      providers: ['google'],
      passwordImap: true,
      microsoftCloud: null,
      status: 'pending',
      reauthEmail: null,
      loginHint: 'ada@gmail.test',
      expiresAt: made.body.expiresAt,
    })
  })

  test('offers every provider that has an app, and the form, unless the body names others', async () => {
    const offered = async (caller: typeof app.post, body: unknown) => {
      const { body: made } = await caller<{ url: string }>('/v1/connect-sessions', body)
      const { body: shown } = await app.as(null).get(`/v1/hosted/connect-sessions/${tokenOf(made.url)}`)
      return [shown['providers'], shown['passwordImap']]
    }
    expect(await offered(app.post, {})).toEqual([['google'], true])
    expect(await offered(app.post, { options: { passwordImap: false } })).toEqual([['google'], false])
    expect(await offered(app.post, { providers: ['google', 'google'] })).toEqual([['google'], false])
    const bare = await app.createTenant('without apps')
    expect(await offered(bare.post, {})).toEqual([[], true])
  })

  test('uses the app of the operator for a tenant without one', async () => {
    const config = { baseUrl: BASE, googleClientId: 'operator', googleClientSecret: new Secret('s') }
    await using served = await openTestApp({ config })
    expect((await served.post('/v1/connect-sessions', { providers: ['google'] })).status).toBe(200)
    expect((await served.get('/v1/oauth-apps')).body).toEqual({ items: [] })
  })

  test('offers an account that signs in again its own provider, and its form to one with a password', async () => {
    const gmail = await sampleAccount(app.db, app.tenantId, {
      provider: 'gmail',
      auth_method: 'oauth',
      imap: null,
      email: 'ada@gmail.test',
    })
    const imap = await sampleAccount(app.db, app.tenantId, { email: 'ada@imap.test' })
    const shown = async (accountId: string) => {
      const { body: made } = await app.post<{ id: string; url: string }>('/v1/connect-sessions', {
        accountId,
      })
      expect((await app.get(`/v1/connect-sessions/${made.id}`)).body).toMatchObject({ accountId })
      return (await app.as(null).get(`/v1/hosted/connect-sessions/${tokenOf(made.url)}`)).body
    }
    expect(await shown(gmail.id)).toMatchObject({
      providers: ['google'],
      passwordImap: false,
      reauthEmail: 'ada@gmail.test',
    })
    expect(await shown(imap.id)).toMatchObject({
      providers: [],
      passwordImap: true,
      reauthEmail: 'ada@imap.test',
    })
    expect(
      await app.post('/v1/connect-sessions', { accountId: imap.id, providers: ['google'] }),
    ).toMatchObject({ status: 400, body: { code: 'provider_not_allowed' } })
  })

  test('accepts redirect URIs that are listed, of each kind', async () => {
    for (const redirectUri of ALLOWED)
      expect((await app.post('/v1/connect-sessions', { redirectUri })).status).toBe(200)
  })
})

describe.each<[string, (change: Record<string, unknown>) => Record<string, unknown>]>([
  ['/v1/connect-sessions', change => ({ providers: ['google'], redirectUri: BACK, ...change })],
  ['/v1/oauth-authorizations', change => ({ provider: 'google', redirectUri: BACK, ...change })],
])('POST %s', (path, bodyOf) => {
  const appOf = (id: string) =>
    path === '/v1/connect-sessions' ? { oauthAppIds: { google: id } } : { oauthAppId: id }

  test.each<[string, () => Record<string, unknown>, number, string]>([
    ['a cloud without Microsoft', () => ({ microsoftCloud: 'global' }), 400, 'not_microsoft'],
    ['an unknown app', () => appOf(newId()), 422, 'unknown_oauth_app'],
    ['an unknown account', () => ({ accountId: newId() }), 422, 'unknown_account'],
    ['an account that is no UUID', () => ({ accountId: 'x' }), 400, 'invalid_input'],
    [
      'a honeypot without tracked clicks',
      () => ({ options: { settings: { trackingHoneypot: true } } }),
      400,
      'honeypot_needs_click_tracking',
    ],
    ['an unknown field', () => ({ mcp: { scopes: ['read'] } }), 400, 'invalid_input'],
    ['sign-in to IMAP servers', () => ({ options: { imap: true } }), 400, 'invalid_input'],
    ['a long state', () => ({ state: 's'.repeat(1025) }), 400, 'invalid_input'],
    ['a long externalRef', () => ({ externalRef: 'e'.repeat(256) }), 400, 'invalid_input'],
    ['a loginHint that is no address', () => ({ loginHint: 'ada' }), 400, 'invalid_input'],
    ['a redirectUri that is no URI', () => ({ redirectUri: '//evil.example' }), 400, 'invalid_input'],
  ])('refuses %s, and leaves nothing behind', async (_, change, status, code) => {
    const before = await sessionRows()
    expect(await app.post(path, bodyOf(change()))).toMatchObject({ status, body: { code } })
    expect(await sessionRows()).toEqual(before)
  })

  test.each([
    'https://app.example.com/connected',
    'https://app.example.com/connected?tab=mail&',
    'https://app.example.com/connected?tab=mail#x',
    'https://APP.example.com/connected?tab=mail',
    'https://app.example.com:443/connected?tab=mail',
    'https://app.example.com./connected?tab=mail',
    'https://app.example.com@evil.example/connected?tab=mail',
    'https://evil.example/https://app.example.com/connected?tab=mail',
    'https:\\\\app.example.com/connected?tab=mail',
    'https://app.example.com/x/%2e%2e/connected?tab=mail',
    'https://app.example.com/connected?tab=mail ',
    'https://user:word@app.example.com/connected?tab=mail',
    'https://xn--app-example-com.example/connected?tab=mail',
    'http://app.example.com/connected?tab=mail',
    'http://localhost:3001/back',
    'javascript:alert(1)',
    'data:text/html,x',
    'com.example.app:/oauth/x',
  ])('refuses the redirect URI %s, which is not listed', async redirectUri => {
    expect(await app.post(path, bodyOf({ redirectUri }))).toMatchObject({
      status: 400,
      body: { code: 'redirect_uri_not_allowed' },
    })
  })

  test('refuses a listed redirect URI that browsers must not be sent to', async () => {
    const tenant = await app.createTenant(`hostile list ${path}`)
    await tenant.post('/v1/oauth-apps', { provider: 'google', name: 'M', clientId: 'c', clientSecret: 's' })
    const redirectUri = 'javascript:alert(1)'
    await sql`
      update tenant set settings = jsonb_set(settings, '{redirectUris}', ${JSON.stringify([redirectUri])}::jsonb)
      where id = ${tenant.tenantId}`.execute(app.db)
    expect(await tenant.post(path, bodyOf({ redirectUri }))).toMatchObject({
      body: { code: 'redirect_uri_not_allowed' },
    })
  })

  test('refuses an app of another tenant, and one under the name of another provider', async () => {
    const other = await app.createTenant(`apps of others ${path}`)
    await other.patch('/v1/settings', { redirectUris: ALLOWED })
    expect(await other.post(path, bodyOf(appOf(googleApp.id)))).toMatchObject({
      body: { code: 'unknown_oauth_app' },
    })
    const asMicrosoft =
      path === '/v1/connect-sessions'
        ? { oauthAppIds: { microsoft: googleApp.id } }
        : { provider: 'microsoft', oauthAppId: googleApp.id }
    expect(await app.post(path, bodyOf(asMicrosoft))).toMatchObject({ body: { code: 'oauth_app_mismatch' } })
  })

  test('refuses a provider without an app', async () => {
    const asMicrosoft =
      path === '/v1/connect-sessions' ? { providers: ['microsoft'] } : { provider: 'microsoft' }
    expect(await app.post(path, bodyOf(asMicrosoft))).toMatchObject({
      status: 400,
      body: { code: 'provider_not_configured' },
    })
    const bare = await app.createTenant(`no app ${path}`)
    await bare.patch('/v1/settings', { redirectUris: ALLOWED })
    expect(await bare.post(path, bodyOf({}))).toMatchObject({ body: { code: 'provider_not_configured' } })
  })

  test('refuses an account of another tenant, and one that was deleted', async () => {
    const other = await app.createTenant(`accounts of others ${path}`)
    const foreign = await sampleAccount(app.db, other.tenantId)
    const deleted = await sampleAccount(app.db, app.tenantId, { deleted_at: new Date() })
    for (const { id } of [foreign, deleted]) {
      expect(await app.post(path, bodyOf({ accountId: id }))).toMatchObject({
        status: 422,
        body: { code: 'unknown_account', data: { ids: [id] } },
      })
    }
  })
})

test('sessions of other tenants, unknown and malformed ids read alike', async () => {
  const { body: made } = await app.post<{ id: string }>('/v1/connect-sessions', {})
  const other = await app.createTenant('other of sessions')
  for (const id of [made.id, newId(), 'x']) {
    expect(await other.get(`/v1/connect-sessions/${id}`)).toMatchObject({
      status: 404,
      body: { code: 'connect_session_not_found' },
    })
  }
})

test('a headless authorization has neither a session to read nor hosted operations', async () => {
  const made = await app.post<{ authorizeUrl: string }>('/v1/oauth-authorizations', {
    provider: 'google',
    redirectUri: BACK,
  })
  const token = tokenOf(made.body.authorizeUrl)
  expect(await app.as(null).get(`/v1/hosted/connect-sessions/${token}`)).toMatchObject({ status: 404 })
  const { rows } = await sql<{ id: string; hours: number }>`
    select id, extract(epoch from expires_at - created_at) / 3600 as hours from connect_session where kind = 'headless'
    order by id desc limit 1`.execute(app.db)
  expect(Number(rows[0]?.hours)).toBeCloseTo(1)
  expect(await app.get(`/v1/connect-sessions/${rows[0]?.id}`)).toMatchObject({ status: 404 })
})

test('a session that was not completed in time has failed, and is kept for 30 days', async () => {
  const { body: made } = await app.post<{ id: string; url: string }>('/v1/connect-sessions', {})
  const age = (interval: string) =>
    sql`update connect_session set created_at = created_at - ${interval}::interval,
      expires_at = expires_at - ${interval}::interval where id = ${made.id}`.execute(app.db)
  const path = `/v1/connect-sessions/${made.id}`
  await age('1 hour')
  expect((await app.get(path)).body).toMatchObject({ status: 'failed', error: 'session_expired' })
  const hosted = `/v1/hosted/connect-sessions/${tokenOf(made.url)}`
  expect(await app.as(null).get(hosted)).toMatchObject({ status: 400, body: { code: 'session_expired' } })
  await age('29 days 22 hours')
  expect((await app.get(path)).status).toBe(200)
  await age('2 hours')
  expect((await app.get(path)).status).toBe(404)
  expect((await app.as(null).get(hosted)).status).toBe(404)
})
