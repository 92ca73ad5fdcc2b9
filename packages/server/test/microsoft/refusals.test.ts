import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { reasons, type Reason } from '@waxwing/contract/reasons.ts'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { setPastDue } from '../../src/features/tenancy/tenants/store.ts'
import { newId } from '../../src/kit/ids.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { makeAppCertificate, type MadeCertificate } from './app-certificate.ts'
import { CLOUD_NAMES, useMicrosoft, USERS } from './use-microsoft.ts'
import { casesFor } from '../soak.ts'

const at = useMicrosoft()

let made: MadeCertificate
beforeAll(async () => {
  made = await makeAppCertificate()
})

type Body = Record<string, unknown>

const refusal = (code: Reason) => ({ status: reasons[code].status, body: { code, defined: true } })
const nextOf = (cloud: Cloud): Cloud => CLOUD_NAMES[(CLOUD_NAMES.indexOf(cloud) + 1) % CLOUD_NAMES.length]!

const MAIL = ['Mail.ReadWrite', 'Mail.Send']

/** A refresh token of these permissions. */
const tokenOf = (cloud: Cloud, permissions: readonly string[] = MAIL) =>
  at.grant(cloud, [
    'openid',
    'profile',
    ...['User.Read', ...permissions].map(name => `https://${CLOUDS[cloud].graph}/${name}`),
  ])

const connect = (cloud: Cloud, body: Body) =>
  at.tenant.post<Account>('/v1/accounts', { provider: 'microsoft', microsoftCloud: cloud, ...body })

const changeApp = (cloud: Cloud, change: Body) =>
  at.tenant.patch<OAuthApp>(`/v1/oauth-apps/${at.apps[cloud].id}`, change)

/** A body that is refused, after what it needs is arranged. */
type Made = (cloud: Cloud) => Promise<Body>

const REFUSED: readonly [code: Reason, condition: string, Made][] = [
  [
    'oauth_app_mismatch',
    'the named app is of another cloud',
    async cloud => ({ refreshToken: await tokenOf(cloud), oauthAppId: at.apps[nextOf(cloud)].id }),
  ],
  [
    'oauth_app_mismatch',
    'the named app is of another provider',
    async cloud => {
      const google = { provider: 'google', name: 'Mail', clientId: 'g', clientSecret: 's' }
      const { body } = await at.tenant.post<OAuthApp>('/v1/oauth-apps', google)
      return { refreshToken: await tokenOf(cloud), oauthAppId: body.id }
    },
  ],
  [
    'unknown_oauth_app',
    'the named app is none',
    async cloud => ({ refreshToken: await tokenOf(cloud), oauthAppId: newId() }),
  ],
  [
    'provider_not_configured',
    'there is no app in the cloud',
    async cloud => {
      await at.tenant.delete(`/v1/oauth-apps/${at.apps[cloud].id}`)
      return { refreshToken: await tokenOf(cloud) }
    },
  ],
  ['invalid_grant', 'the refresh token is none', async () => ({ refreshToken: '0.AXYA-nothing' })],
  [
    'invalid_grant',
    'the refresh token is of another cloud',
    async cloud => ({ refreshToken: await tokenOf(nextOf(cloud)) }),
  ],
  [
    'invalid_grant',
    'the password was changed',
    async cloud => {
      const refreshToken = await tokenOf(cloud)
      await at.sandbox.changeUser(USERS[cloud], { passwordChanged: true })
      return { refreshToken }
    },
  ],
  [
    'invalid_grant',
    'the user is suspended',
    async cloud => {
      const refreshToken = await tokenOf(cloud)
      await at.sandbox.changeUser(USERS[cloud], { suspended: true })
      return { refreshToken }
    },
  ],
  ['scope_missing', 'mail was not granted', async cloud => ({ refreshToken: await tokenOf(cloud, []) })],
  [
    'scope_missing',
    'mail can only be read',
    async cloud => ({ refreshToken: await tokenOf(cloud, ['Mail.Read', 'Mail.Send']) }),
  ],
  [
    'scope_missing',
    'mail cannot be sent',
    async cloud => ({ refreshToken: await tokenOf(cloud, ['Mail.ReadWrite']) }),
  ],
  [
    'scope_missing',
    'the consent was withdrawn',
    async cloud => {
      const refreshToken = await tokenOf(cloud)
      const { clientId } = at.apps[cloud]
      await at.sandbox.control('POST', '/consents/withdraw', { user: USERS[cloud], clientId })
      return { refreshToken }
    },
  ],
  [
    'scope_missing',
    'a calendar is turned on without its permission',
    async cloud => ({ refreshToken: await tokenOf(cloud), settings: { calendarEnabled: true } }),
  ],
  [
    'invalid_client',
    'the secret is wrong',
    async cloud => {
      await changeApp(cloud, { clientSecret: 'wrong' })
      return { refreshToken: await tokenOf(cloud) }
    },
  ],
  [
    'invalid_client',
    'the certificate is not registered',
    async cloud => {
      await changeApp(cloud, { ...made })
      return { refreshToken: await tokenOf(cloud) }
    },
  ],
  [
    'oauth_app_secret_unreadable',
    'the secret cannot be read',
    async cloud => {
      await sql`update oauth_app set secret = '\\x00' where id = ${at.apps[cloud].id}`.execute(at.app.db)
      return { refreshToken: await tokenOf(cloud) }
    },
  ],
  [
    'billing_past_due',
    'a payment is overdue',
    async cloud => {
      await setPastDue(at.app.db, at.tenant.tenantId, true)
      return { refreshToken: await tokenOf(cloud) }
    },
  ],
  [
    'plan_limit_accounts',
    'the plan is full',
    async cloud => {
      const plan = await createPlan(at.app.db, newId(), { ...NO_LIMITS, maxAccounts: 0 })
      await assignPlan(at.app.db, at.tenant.tenantId, plan)
      return { refreshToken: await tokenOf(cloud) }
    },
  ],
]

describe.each(casesFor(CLOUD_NAMES, name => name === 'china'))('POST /v1/accounts in the cloud %s', cloud => {
  const { login, graph } = CLOUDS[cloud]

  test.each(REFUSED)('is refused with %s if %s', async (code, _, make) => {
    expect(await connect(cloud, await make(cloud))).toMatchObject(refusal(code))
    expect(await at.accounts()).toEqual([])
  })

  test.each<[code: Reason, fault: Body & { host: string }]>([
    ['provider_throttled', { does: 'rate_limit', retryAfterSeconds: 9, host: login }],
    ['provider_unavailable', { does: 'error', status: 503, host: login }],
    ['provider_unavailable', { does: 'torn', host: login }],
    ['access_token_rejected', { does: 'unauthorized', host: graph }],
    ['provider_throttled', { does: 'rate_limit', retryAfterSeconds: 9, host: graph }],
    ['provider_unavailable', { does: 'error', status: 500, host: graph }],
    ['provider_forbidden', { does: 'error', status: 404, host: graph }],
  ])('passes on %s, and the same token connects afterwards: %o', async (code, fault) => {
    const refreshToken = await tokenOf(cloud)
    const path = fault.host === login ? '*/oauth2/v2.0/token' : '/v1.0/*'
    await at.sandbox.addFault({ ...fault, path, count: 1 })
    const answer = await connect(cloud, { refreshToken })
    expect(answer).toMatchObject(refusal(code))
    expect(answer.headers.get('retry-after')).toBe('retryAfterSeconds' in fault ? '9' : null)
    expect(await at.accounts()).toEqual([])
    expect(await connect(cloud, { refreshToken })).toMatchObject({ status: 200, body: { cloud } })
  })

  test('needs the cloud of a named app, unless that is the global one', async () => {
    const body = { provider: 'microsoft', refreshToken: await tokenOf(cloud), oauthAppId: at.apps[cloud].id }
    const answer = await at.tenant.post<Account>('/v1/accounts', body)
    if (cloud === 'global') expect(answer).toMatchObject({ status: 200, body: { cloud } })
    else expect(answer).toMatchObject(refusal('cloud_required'))
  })

  /** A second app of the tenant in the cloud, with a certificate, and a refresh token that was issued to it. */
  async function openCertified(): Promise<{ second: OAuthApp; refreshToken: string }> {
    const clientId = `second-${cloud}`
    const certificates = [made.certificate]
    await at.sandbox.addClient({ provider: 'microsoft', cloud, clientId, certificates })
    const given = { provider: 'microsoft', name: 'Second', cloud, clientId, ...made }
    const { body: second } = await at.tenant.post<OAuthApp>('/v1/oauth-apps', given)
    const scopes = ['openid', 'profile', ...['User.Read', ...MAIL].map(name => `https://${graph}/${name}`)]
    const place = { provider: 'microsoft', cloud }
    const { refreshToken } = await at.sandbox.grant(USERS[cloud], scopes, clientId, place)
    return { second, refreshToken }
  }

  test('renews the account of the user, also with another app of the cloud', async () => {
    const { body: account } = await connect(cloud, { refreshToken: await tokenOf(cloud) })
    const lost = { status: 'reauth_required', status_reason: 'invalid_grant' } as const
    await at.app.db.updateTable('account').set(lost).where('id', '=', account.id).execute()
    const { second, refreshToken } = await openCertified()
    expect(await connect(cloud, { refreshToken, oauthAppId: second.id })).toMatchObject({
      status: 200,
      body: { id: account.id, status: 'active', oauthAppId: second.id, cloud },
    })
    expect(await at.tenant.delete(`/v1/oauth-apps/${second.id}`)).toMatchObject(refusal('oauth_app_in_use'))
    expect((await at.tenant.delete(`/v1/oauth-apps/${at.apps[cloud].id}`)).status).toBe(200)
  })

  test('blames no certificate if the clocks differ by an hour', async () => {
    const { second, refreshToken } = await openCertified()
    await at.sandbox.turnClock(3_600)
    const answer = await connect(cloud, { refreshToken, oauthAppId: second.id })
    expect(answer).toMatchObject(refusal('provider_unavailable'))
    expect(answer.body).toMatchObject({ message: expect.stringContaining('clock') })
  })
})
