import { randomBytes } from 'node:crypto'
import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tablesWith } from '../../../../test/database-text.ts'
import { type TestApp, openTestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { startSandbox } from '../../../../test/servers/sandbox.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { newId } from '../../../kit/ids.ts'
import { environmentKeyRing } from '../../../kit/key-ring.ts'
import { rotateKeyRing } from '../../../accounts/key-rotation.ts'
import { openOAuthClients } from '../../../accounts/apps/clients.ts'
import { addHalves } from '../../../../test/halves.ts'

const BASE = 'https://mail.example.com'
const SECRET = 'canary-of-client-secret'
const GIVEN = { provider: 'google', name: 'Mail', clientId: 'one.apps.example', clientSecret: SECRET }
const PUSH = {
  topic: 'projects/mail/topics/gmail',
  subscription: 'projects/mail/subscriptions/gmail',
  serviceAccount: 'push@mail.iam.gserviceaccount.com',
}
const MODIFY = 'https://www.googleapis.com/auth/gmail.modify'

let app: TestApp
beforeAll(async () => {
  app = await openTestApp({ config: { baseUrl: BASE } })
})
afterAll(() => app[Symbol.asyncDispose]())

const add = (change: Record<string, unknown> = {}) =>
  app.post<OAuthApp>('/v1/oauth-apps', { ...GIVEN, ...change })

async function allRows(): Promise<unknown> {
  const { rows } = await sql`select * from oauth_app order by id`.execute(app.db)
  return rows
}

describe('POST /v1/oauth-apps', () => {
  test('adds an app, and never shows its secret', { tags: ['postgres-16'] }, async () => {
    const made = await add({ scopes: [MODIFY], gmailPush: PUSH })

    expect(made).toMatchObject({ status: 200 })
    expect(made.body).toEqual({
      id: expect.any(String),
      provider: 'google',
      name: 'Mail',
      clientId: 'one.apps.example',
      cloud: null,
      redirectUri: `${BASE}/connect/callback/google`,
      scopes: [MODIFY],
      credentialType: 'secret',
      gmailPush: PUSH,
      accounts: 0,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect((await app.get(`/v1/oauth-apps/${made.body.id}`)).body).toEqual(made.body)
    const { body } = await app.get<{ items: OAuthApp[] }>('/v1/oauth-apps')
    expect(body.items[0]).toEqual(made.body)
    expect(JSON.stringify(body)).not.toContain(SECRET)
    expect(await tablesWith(app.db, SECRET)).toEqual([])
    expect(app.logLines.join('')).not.toContain(SECRET)
    const { rows } = await sql`
      select action, targets from audit_open where action = 'oauth_app.create'`.execute(app.db)
    expect(rows).toEqual([{ action: 'oauth_app.create', targets: { appId: made.body.id } }])
  })

  test.each<[string, Record<string, unknown>, string, string?]>([
    ['no secret', { clientSecret: undefined }, 'credential_missing'],
    ['a cloud of Microsoft', { cloud: 'global' }, 'not_microsoft'],
    ['a certificate', { certificate: 'PEM', privateKey: 'PEM' }, 'not_microsoft'],
    [
      'Microsoft without a credential',
      { provider: 'microsoft', clientSecret: undefined },
      'credential_missing',
    ],
    ['pushes to an app of Microsoft', { provider: 'microsoft', gmailPush: PUSH }, 'gmail_push_unsupported'],
    ['scopes that read no mail', { scopes: ['openid', `${MODIFY}.metadata`] }, 'invalid_input', 'scopes'],
    [
      'a scope that reads only metadata',
      { scopes: ['https://www.googleapis.com/auth/gmail.metadata'] },
      'invalid_input',
      'scopes',
    ],
    ['no scopes at all', { scopes: [] }, 'invalid_input', 'scopes'],
    ['a scope with a space', { scopes: [`${MODIFY} openid`] }, 'invalid_input', 'scopes.0'],
    ['an unknown provider', { provider: 'yahoo' }, 'invalid_input', 'provider'],
    ['an empty name', { name: '' }, 'invalid_input', 'name'],
    ['a long name', { name: 'n'.repeat(101) }, 'invalid_input', 'name'],
    ['a client id with a line break', { clientId: 'one\n' }, 'invalid_input', 'clientId'],
    ['a secret with a line break', { clientSecret: 'one\n' }, 'invalid_input', 'clientSecret'],
    [
      'a topic of another form',
      { gmailPush: { ...PUSH, topic: 'gmail' } },
      'invalid_input',
      'gmailPush.topic',
    ],
    [
      'a subscription in place of a topic',
      { gmailPush: { ...PUSH, topic: PUSH.subscription } },
      'invalid_input',
      'gmailPush.topic',
    ],
    [
      'half of the push settings',
      { gmailPush: { topic: PUSH.topic } },
      'invalid_input',
      'gmailPush.subscription',
    ],
    ['a redirect URI of its own', { redirectUri: BASE }, 'invalid_input', 'redirectUri'],
  ])('refuses %s', async (_, change, code, path) => {
    const before = await allRows()
    const refused = await add(change)
    expect(refused).toMatchObject({ status: 400, body: { code } })
    if (path) expect(JSON.stringify(refused.body)).toContain(JSON.stringify(path.split('.').map(asIndex)))
    expect(await allRows()).toEqual(before)
  })

  test('refuses pushes if the service has no public https address', async () => {
    for (const baseUrl of [null, 'http://mail.example.com', 'https://localhost', 'https://10.0.0.1']) {
      await using local = await openTestApp({ config: { baseUrl } })
      const refused = await local.post('/v1/oauth-apps', { ...GIVEN, gmailPush: PUSH })
      expect(refused).toMatchObject({ status: 400, body: { code: 'push_unavailable' } })
      expect((await local.post('/v1/oauth-apps', GIVEN)).status).toBe(200)
    }
  })

  test('allows 100 apps of a tenant, however many are added at the same time', async () => {
    const tenant = await app.createTenant('many apps')
    const made: number[] = []
    for (let batch = 0; batch < 7; batch += 1) {
      const answers = await Promise.all(
        Array.from({ length: 15 }, () => tenant.post('/v1/oauth-apps', GIVEN)),
      )
      made.push(...answers.map(({ status }) => status))
    }
    expect(made.filter(status => status === 200)).toHaveLength(100)
    expect(made.filter(status => status === 400)).toHaveLength(5)
  })

  test('needs a key of the tenant with the scope admin', async () => {
    const { text } = await app.createKey({ scopes: ['read', 'write', 'send'] })
    expect(await app.as(text).post('/v1/oauth-apps', GIVEN)).toMatchObject({
      body: { code: 'missing_scope' },
    })
    expect(await app.as(text).get('/v1/oauth-apps')).toMatchObject({ body: { code: 'missing_scope' } })
    const bound = await app.createKey({ accountIds: [newId()] })
    expect(await app.as(bound.text).get('/v1/oauth-apps')).toMatchObject({
      body: { code: 'account_scope_forbidden' },
    })
  })
})

function asIndex(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part
}

test(
  'secrets open after a rotation of the master key, and only in their own row',
  { tags: ['postgres-16'] },
  async () => {
    const [old, next] = [randomBytes(32), randomBytes(32)].map(key => key.toString('base64'))
    await using rotated = await openTestApp({ keyRing: environmentKeyRing(`${old}`) })
    const { db, tenantId } = rotated
    const ids: string[] = []
    for (let count = 0; count < 2; count += 1)
      ids.push((await rotated.post<OAuthApp>('/v1/oauth-apps', GIVEN)).body.id)
    await rotateKeyRing(db, environmentKeyRing(`${next},${old}`))
    const operators = { googleClientId: null, googleClientSecret: null }
    const clients = await openOAuthClients(db, environmentKeyRing(`${next}`), operators)
    const find = (appId: string | undefined) =>
      clients.find(db, tenantId, { provider: 'google', cloud: null, appId: appId ?? '' })
    expect(await find(ids[0])).toMatchObject({ clientId: GIVEN.clientId })
    await sql`update oauth_app set secret = (select secret from oauth_app where id = ${ids[0]})`.execute(db)
    expect(await find(ids[0])).toMatchObject({ clientId: GIVEN.clientId })
    expect(await find(ids[1])).toBe('oauth_app_secret_unreadable')
  },
)

describe('PATCH /v1/oauth-apps/{appId}', () => {
  test('changes the given fields, and returns scopes and pushes to their defaults', async () => {
    const { body: made } = await add()
    const path = `/v1/oauth-apps/${made.id}`
    const changed = await app.patch<OAuthApp>(path, { name: 'New', scopes: [MODIFY], gmailPush: PUSH })
    expect(changed.body).toEqual({
      ...made,
      name: 'New',
      scopes: [MODIFY],
      gmailPush: PUSH,
      updatedAt: expect.any(String),
    })
    const back = await app.patch(path, { scopes: null, gmailPush: null })
    expect(back.body).toMatchObject({ name: 'New', scopes: null, gmailPush: null })
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['another client id', { clientId: 'two' }, 'invalid_input'],
    ['another provider', { provider: 'google' }, 'invalid_input'],
    ['another cloud', { cloud: 'global' }, 'invalid_input'],
    ['a certificate', { certificate: 'PEM' }, 'not_microsoft'],
    ['scopes that read no mail', { scopes: ['openid'] }, 'invalid_input'],
    ['an empty secret', { clientSecret: '' }, 'invalid_input'],
  ])('refuses %s', async (_, change, code) => {
    const { body: made } = await add()
    const before = await allRows()
    expect(await app.patch(`/v1/oauth-apps/${made.id}`, change)).toMatchObject({
      status: 400,
      body: { code },
    })
    expect(await allRows()).toEqual(before)
  })

  test(
    'of the secret tries accounts again that were misconfigured for it, and no others',
    { tags: ['postgres-16'] },
    async () => {
      const { body: made } = await add()
      const { body: other } = await add()
      const sample = (values: Parameters<typeof sampleAccount>[2]) =>
        sampleAccount(app.db, app.tenantId, { oauth_app_id: made.id, ...values })
      const waiting = await sample({ problem: 'invalid_client' })
      await sample({ problem: null })
      await sample({ status_reason: 'invalid_client', status: 'paused' })
      await sample({ problem: 'server_not_allowed' })
      await sample({ problem: 'invalid_client', oauth_app_id: other.id })
      await sample({ problem: 'invalid_client', deleted_at: new Date() })
      const restarted = async () => {
        const { rows } = await sql<{ id: string }>`
        select id from account join account_half on account_id = id where 'restart' = any(sync_wanted) and oauth_app_id = ${made.id}`.execute(
          app.db,
        )
        return rows.map(({ id }) => id)
      }
      await app.patch(`/v1/oauth-apps/${made.id}`, { name: 'Same secret' })
      expect(await restarted()).toEqual([])
      await app.patch(`/v1/oauth-apps/${made.id}`, { clientSecret: 'new' })
      expect(await restarted()).toEqual([waiting.id])
    },
  )

  test('of the pushes restarts every account, and none if they stay the same', async () => {
    await using own = await openTestApp({ roles: ['api', 'jobs'], config: { baseUrl: BASE } })
    const { body: made } = await own.post<OAuthApp>('/v1/oauth-apps', { ...GIVEN, gmailPush: PUSH })
    await sampleAccount(own.db, own.tenantId, {})
    await sql`
      insert into account (id, tenant_id, provider, auth_method, email, oauth_app_id, status, data_key)
      select gen_random_uuid(), ${own.tenantId}, 'gmail', 'oauth', n || '@push.test', ${made.id}, 'active', data_key
      from generate_series(1, 1200) as n, (select data_key from account limit 1) as sample
    `.execute(own.db)
    await addHalves(own.db)
    const restarted = async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from account join account_half on account_id = id
        where 'restart' = any(sync_wanted) and oauth_app_id = ${made.id}
      `.execute(own.db)
      return rows[0]?.count
    }
    const path = `/v1/oauth-apps/${made.id}`
    const inCapitals = { ...PUSH, serviceAccount: PUSH.serviceAccount.toUpperCase() }
    const same = await own.patch<OAuthApp>(path, { gmailPush: inCapitals })
    expect(same.body.gmailPush).toEqual(PUSH)
    expect(await restarted()).toBe(0)
    await own.patch(path, { gmailPush: null })
    await waitUntil('all accounts to restart', async () => (await restarted()) === 1200)
  })
})

describe('DELETE /v1/oauth-apps/{appId}', () => {
  test(
    'refuses an app with live accounts, and counts no deleted ones',
    { tags: ['postgres-16'] },
    async () => {
      const { body: made } = await add()
      const path = `/v1/oauth-apps/${made.id}`
      const account = await sampleAccount(app.db, app.tenantId, { oauth_app_id: made.id })
      expect((await app.get(path)).body).toMatchObject({ accounts: 1 })
      expect(await app.delete(path)).toMatchObject({ status: 409, body: { code: 'oauth_app_in_use' } })
      await app.delete(`/v1/accounts/${account.id}`)
      expect((await app.get(path)).body).toMatchObject({ accounts: 0 })
      expect(await app.delete(path)).toMatchObject({ status: 200, body: null })
      expect(await app.get(path)).toMatchObject({ status: 404, body: { code: 'oauth_app_not_found' } })
    },
  )

  test('and every other operation refuse apps of other tenants, unknown and malformed ids alike', async () => {
    const { body: made } = await add()
    const other = await app.createTenant('other of apps')
    for (const id of [made.id, newId(), 'x', '%00']) {
      const path = `/v1/oauth-apps/${id}`
      for (const refused of [
        await other.get(path),
        await other.patch(path, { name: 'Mine' }),
        await other.delete(path),
      ]) {
        expect(refused).toMatchObject({ status: 404, body: { code: 'oauth_app_not_found' } })
      }
    }
    expect((await app.get(`/v1/oauth-apps/${made.id}`)).body).toEqual(made)
  })
})

test('a service whose providers a sandbox plays may push to any address', async () => {
  await using sandbox = await startSandbox({ seed: {} })
  await using local = await openTestApp({ config: { sandboxUrl: sandbox.controlUrl } })
  expect((await local.post('/v1/oauth-apps', { ...GIVEN, gmailPush: PUSH })).status).toBe(200)
})
