import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { openOAuthClients } from '../../src/accounts/apps/clients.ts'
import { tablesWith } from '../database-text.ts'
import { openTestApp, type TestApp, type TestTenant } from '../open-app.ts'
import { sampleAccount } from '../sample-rows.ts'
import { expiredLongAgo, makeAppCertificate, type MadeCertificate } from './app-certificate.ts'

const BASE = 'https://mail.example.com'
const BACK = 'https://app.example.com/connected'
const SECRET = { provider: 'microsoft', name: 'Mail', clientId: 'one', clientSecret: 'a-secret' }
const GRAPH = 'https://graph.microsoft.com/'

let app: TestApp
let tenant: TestTenant
let made: MadeCertificate
let other: MadeCertificate
beforeAll(async () => {
  app = await openTestApp({ config: { baseUrl: BASE } })
  ;[made, other] = await Promise.all([makeAppCertificate(), makeAppCertificate()])
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(async () => {
  tenant = await app.createTenant(`tenant ${newId()}`)
  await tenant.patch('/v1/settings', { redirectUris: [BACK] })
})

const add = (change: Record<string, unknown> = {}) =>
  tenant.post<OAuthApp>('/v1/oauth-apps', { ...SECRET, ...change })
const certified = (change: Record<string, unknown> = {}) =>
  add({ clientSecret: undefined, ...made, ...change })

async function credentialOf({ id, cloud }: OAuthApp) {
  const clients = await openOAuthClients(app.db, app.keyRing, {
    googleClientId: null,
    googleClientSecret: null,
  })
  const found = await clients.find(app.db, tenant.tenantId, { provider: 'microsoft', cloud, appId: id })
  if (typeof found === 'string') throw new Error(found)
  return found.credential
}

describe('an app of Microsoft', () => {
  test('is in the global cloud unless another is named', async () => {
    expect((await add()).body).toMatchObject({
      cloud: 'global',
      credentialType: 'secret',
      redirectUri: `${BASE}/connect/callback/microsoft`,
    })
    expect((await add({ cloud: 'china' })).body).toMatchObject({ cloud: 'china' })
  })

  test('may have a certificate, whose key is kept sealed and never shown', async () => {
    const { status, body } = await certified({ cloud: 'dod' })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { credentialType: 'certificate', cloud: 'dod' },
    })
    const credential = await credentialOf(body)
    expect(credential).toMatchObject({ type: 'certificate', certificate: made.certificate })
    expect(credential.type === 'certificate' && credential.privateKey.reveal()).toBe(made.privateKey)
    const canary = made.privateKey.split('\n')[3] ?? ''
    expect(canary).toHaveLength(64)
    expect(await tablesWith(app.db, canary)).toEqual([])
    expect(JSON.stringify(body) + app.logLines.join('')).not.toContain(canary)
  })

  test.each<[string, () => Record<string, unknown> | Promise<Record<string, unknown>>, string]>([
    ['a secret and a certificate', () => ({ ...made }), 'credential_conflict'],
    ['a secret and a key', () => ({ privateKey: made.privateKey }), 'credential_conflict'],
    ['no credential', () => ({ clientSecret: undefined }), 'credential_missing'],
    [
      'a certificate without its key',
      () => ({ clientSecret: undefined, certificate: made.certificate }),
      'credential_missing',
    ],
    [
      'a key without its certificate',
      () => ({ clientSecret: undefined, privateKey: made.privateKey }),
      'credential_missing',
    ],
    [
      'the key of another certificate',
      () => ({ clientSecret: undefined, ...made, privateKey: other.privateKey }),
      'credential_mismatch',
    ],
    [
      'an expired certificate',
      () => ({ clientSecret: undefined, ...expiredLongAgo(made) }),
      'invalid_certificate',
    ],
    [
      'a certificate that is none',
      () => ({ clientSecret: undefined, ...made, certificate: 'PEM' }),
      'invalid_certificate',
    ],
    ['an unknown cloud', () => ({ cloud: 'germany' }), 'invalid_input'],
    ['a topic', () => ({ gmailPush: PUSH }), 'gmail_push_unsupported'],
    ['scopes that read no mail', () => ({ scopes: ['User.Read', 'Mail.Send'] }), 'invalid_input'],
    [
      'scopes of another cloud',
      () => ({ cloud: 'dod', scopes: [`${GRAPH}Mail.ReadWrite`] }),
      'invalid_input',
    ],
  ])('is refused with %s', async (_, change, code) => {
    expect(await add(await change())).toMatchObject({ status: 400, body: { code } })
    expect((await tenant.get('/v1/oauth-apps')).body).toEqual({ items: [] })
  })

  test('takes another credential of either type, and tries misconfigured accounts again', async () => {
    const { body } = await add()
    const account = await sampleAccount(app.db, tenant.tenantId, {
      oauth_app_id: body.id,
      problem: 'invalid_client',
    })
    const restarted = async () => {
      const { rows } = await sql<{ id: string }>`
        select account_id as id from account_half where 'restart' = any(sync_wanted) and account_id = ${account.id}
      `.execute(app.db)
      return rows.length > 0
    }
    const path = `/v1/oauth-apps/${body.id}`
    for (const [change, code] of [
      [{ certificate: made.certificate }, 'credential_missing'],
      [{ ...made, clientSecret: 'x' }, 'credential_conflict'],
      [{ ...made, privateKey: other.privateKey }, 'credential_mismatch'],
      [expiredLongAgo(made), 'invalid_certificate'],
    ] as const)
      expect(await tenant.patch(path, { ...change })).toMatchObject({ status: 400, body: { code } })
    expect(await restarted()).toBe(false)
    expect(await tenant.patch(path, { ...made })).toMatchObject({ body: { credentialType: 'certificate' } })
    expect(await restarted()).toBe(true)
    expect(await credentialOf(body)).toMatchObject({ type: 'certificate', certificate: made.certificate })
    expect(await tenant.patch(path, { clientSecret: 'new' })).toMatchObject({
      body: { credentialType: 'secret' },
    })
    expect(await credentialOf(body)).toMatchObject({ type: 'secret' })
  })
})

const PUSH = {
  topic: 'projects/mail/topics/gmail',
  subscription: 'projects/mail/subscriptions/gmail',
  serviceAccount: 'push@mail.iam.gserviceaccount.com',
}

describe.each<[string, (change: Record<string, unknown>, appId?: string) => Record<string, unknown>]>([
  [
    '/v1/connect-sessions',
    (change, appId) => ({
      providers: ['microsoft'],
      redirectUri: BACK,
      ...(appId !== undefined && { oauthAppIds: { microsoft: appId } }),
      ...change,
    }),
  ],
  [
    '/v1/oauth-authorizations',
    (change, appId) => ({
      provider: 'microsoft',
      redirectUri: BACK,
      ...(appId !== undefined && { oauthAppId: appId }),
      ...change,
    }),
  ],
])('POST %s', (path, bodyOf) => {
  const connected = (cloud: string, oauth_app_id: string | null = null, more: Record<string, unknown> = {}) =>
    sampleAccount(app.db, tenant.tenantId, {
      provider: 'graph',
      auth_method: 'oauth',
      imap: null,
      cloud,
      oauth_app_id,
      email: `${newId()}@office.test`,
      ...more,
    })

  test('needs the cloud of a named app of a sovereign cloud', async () => {
    const { body: china } = await add({ cloud: 'china' })
    expect(await tenant.post(path, bodyOf({}, china.id))).toMatchObject({
      status: 400,
      body: { code: 'cloud_required' },
    })
    expect(await tenant.post(path, bodyOf({ microsoftCloud: 'dod' }, china.id))).toMatchObject({
      status: 400,
      body: { code: 'oauth_app_mismatch' },
    })
    expect(await tenant.post(path, bodyOf({ microsoftCloud: 'china' }, china.id))).toMatchObject({
      status: 200,
    })
  })

  test('takes an app of the named cloud alone', async () => {
    await add({ cloud: 'china' })
    expect(await tenant.post(path, bodyOf({}))).toMatchObject({ body: { code: 'provider_not_configured' } })
    expect((await tenant.post(path, bodyOf({ microsoftCloud: 'china' }))).status).toBe(200)
  })

  test('signs an account in again in its own cloud', async () => {
    const { body: china } = await add({ cloud: 'china' })
    const { body: global } = await add()
    const account = await connected('china', china.id)
    expect((await tenant.post(path, bodyOf({ accountId: account.id }))).status).toBe(200)
    expect((await tenant.post(path, bodyOf({ accountId: account.id }, china.id))).status).toBe(200)
    for (const [change, appId] of [
      [{ microsoftCloud: 'global' }, undefined],
      [{}, global.id],
    ] as const)
      expect(await tenant.post(path, bodyOf({ accountId: account.id, ...change }, appId))).toMatchObject({
        status: 400,
        body: { code: 'oauth_app_mismatch' },
      })
  })

  test('asks for mailboxes of others only if the plan includes them', async () => {
    await add()
    const body = bodyOf({ options: { settings: { sharedMailboxesEnabled: true } } })
    expect((await tenant.post(path, body)).status).toBe(200)
    const { rows } = await sql<{ wants_shared: boolean }>`
      select wants_shared from connect_session where tenant_id = ${tenant.tenantId}`.execute(app.db)
    expect(rows).toEqual([{ wants_shared: true }])
    const limits = { ...NO_LIMITS, modules: ['calendar' as const] }
    const plan = await createPlan(app.db, newId(), limits)
    await assignPlan(app.db, tenant.tenantId, plan)
    expect(await tenant.post(path, body)).toMatchObject({
      status: 403,
      body: { code: 'plan_module_unavailable' },
    })
    expect((await tenant.post(path, bodyOf({}))).status).toBe(200)
  })
})
