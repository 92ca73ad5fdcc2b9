import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { CALLER } from '../connect-flows.ts'
import { CLOUD_NAMES, DORA, failedWith, FINN, newIn, useMicrosoft, USERS } from './use-microsoft.ts'

const at = useMicrosoft()

const accountId = (url: string) => new URL(url).searchParams.get('account_id')

/** Connects the user of a cloud. */
async function connect(cloud: Cloud, email = USERS[cloud]): Promise<Account> {
  const { token } = await at.world.createLink(newIn(cloud))
  const end = await at.world.signIn(token, email)
  if (end.outcome !== 'returned') throw new Error(JSON.stringify(end))
  const { body } = await at.tenant.get<Account>(`/v1/accounts/${accountId(end.url)}`)
  return body
}

describe.each(CLOUD_NAMES)('in the cloud %s', cloud => {
  const { login, graph } = CLOUDS[cloud]
  const ofToken = (rule: Record<string, unknown>) => () =>
    at.sandbox.addFault({ host: login, path: '*/oauth2/v2.0/token', count: 5, ...rule })
  const ofMailbox = (rule: Record<string, unknown>) => () =>
    at.sandbox.addFault({ host: graph, path: '/v1.0/*', count: 5, ...rule })
  const refused = (code: number) => () =>
    at.sandbox.control('POST', '/token-refusals', { code, user: USERS[cloud] })
  const changeApp = (change: Record<string, unknown>) => () =>
    at.tenant.patch(`/v1/oauth-apps/${at.apps[cloud].id}`, change)

  test('connects the mailbox of the user who signs in', async () => {
    const account = await connect(cloud)
    expect(account).toMatchObject({
      provider: 'graph',
      cloud,
      email: USERS[cloud],
      oauthAppId: at.apps[cloud].id,
      auth: { method: 'oauth' },
      status: 'active',
    })
  })

  test.each<[string, string, () => unknown, ((url: URL) => void)?]>([
    [
      'access_denied',
      'the user refuses',
      () => {},
      url => answerWith(url, 'access_denied', 'AADSTS65004: no'),
    ],
    ['token_exchange_failed', 'anything else is said', () => {}, url => answerWith(url, 'server_error')],
    ['token_exchange_failed', 'there is no code', () => {}, url => url.searchParams.delete('code')],
    [
      'token_exchange_failed',
      'another issuer answers',
      () => {},
      url => url.searchParams.set('iss', `https://${login}/common/v2.0`),
    ],
    ['invalid_grant', 'the code is not good', () => {}, url => url.searchParams.set('code', 'guess')],
    ['invalid_grant', 'a second factor is demanded', refused(50_076)],
    ['invalid_client', 'the secret of the app is wrong', changeApp({ clientSecret: 'wrong' })],
    ['invalid_client', 'the secret of the app has expired', refused(7_000_222)],
    ['scope_denied', 'the user left a permission out', refused(65_001)],
    ['provider_throttled', 'Microsoft asks to slow down', ofToken({ does: 'rate_limit' })],
    ['provider_throttled', 'the mailbox is throttled', ofMailbox({ does: 'rate_limit' })],
    ['provider_unavailable', 'the token endpoint fails', ofToken({ does: 'error', status: 503 })],
    ['provider_unavailable', 'the mailbox cannot be read', ofMailbox({ does: 'error', status: 500 })],
    ['access_token_rejected', 'the new token is refused', ofMailbox({ does: 'unauthorized' })],
    ['provider_forbidden', 'the mailbox is closed to the app', ofMailbox({ does: 'error', status: 403 })],
    ['provider_forbidden', 'the user has no mailbox', ofMailbox({ does: 'error', status: 404 })],
    [
      'oauth_app_secret_unreadable',
      'the secret cannot be read',
      () => sql`update oauth_app set secret = '\\x00' where id = ${at.apps[cloud].id}`.execute(at.app.db),
    ],
    [
      'provider_not_configured',
      'the app was deleted',
      () => at.tenant.delete(`/v1/oauth-apps/${at.apps[cloud].id}`),
    ],
  ])('ends a flow with %s if %s', async (error, _, arrange, change) => {
    const { token } = await at.world.createLink(newIn(cloud))
    const begun = await at.world.begin(token)
    const url = new URL((await at.sandbox.authorize(begun.authorizeUrl, USERS[cloud])).redirectUrl)
    await arrange()
    change?.(url)
    expect(await at.world.comeBack(begun, url.href)).toEqual(failedWith(error))
    expect(await at.accounts()).toEqual([])
  })

  test('explains that an administrator must approve the app, with a link that does so', async () => {
    const domain = USERS[cloud].split('@')[1]
    const { token } = await at.world.createLink(newIn(cloud, { loginHint: USERS[cloud] }))
    const end = await at.world.signIn(token, USERS[cloud], { deny: 'admin_required' })
    expect(end).toMatchObject({ ...failedWith('access_denied'), outcome: 'unapproved' })
    if (end.outcome !== 'unapproved') throw new Error('not this end')
    const approval = new URL(end.approvalUrl)
    expect(approval.origin).toBe(at.sandbox.origin(login))
    expect(approval.pathname).toBe(`/${domain}/v2.0/adminconsent`)
    expect([...approval.searchParams.keys()]).toEqual(['client_id', 'redirect_uri', 'scope'])

    const before = await at.everything()
    const { redirectUrl } = await at.sandbox.authorize(end.approvalUrl, USERS[cloud])
    const returned = new URL(redirectUrl)
    expect(returned.searchParams.get('admin_consent')?.toLowerCase()).toBe('true')
    const given = { provider: 'microsoft', query: returned.searchParams, cookie: null, caller: CALLER }
    expect(await at.world.flows.finishCallback(given)).toEqual({ outcome: 'approved' })
    const shown = await fetch(`${at.app.address}${returned.pathname}${returned.search}`)
    expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining('Thank you')])
    expect(await at.everything()).toEqual(before)
  })

  test('connects by a refresh token from elsewhere', async () => {
    const scopes = ['openid', 'profile', 'email', 'User.Read', 'Mail.ReadWrite', 'Mail.Send'].map(scope =>
      /^[A-Z]/.test(scope) ? `https://${graph}/${scope}` : scope,
    )
    const refreshToken = await at.grant(cloud, scopes)
    const body = { provider: 'microsoft', microsoftCloud: cloud, refreshToken }
    const made = await at.tenant.post<Account>('/v1/accounts', body)
    expect(made).toMatchObject({ status: 200, body: { provider: 'graph', cloud, email: USERS[cloud] } })
    expect(await at.tenant.post('/v1/accounts', body)).toMatchObject({
      status: 409,
      body: { code: 'account_exists' },
    })
    const nameless = await at.grant(cloud, [`https://${graph}/Mail.ReadWrite`], USERS[cloud])
    const refusedAnswer = await at.tenant.post('/v1/accounts', { ...body, refreshToken: nameless })
    expect(refusedAnswer).toMatchObject({ body: { code: 'scope_missing' } })
  })
})

function answerWith(url: URL, error: string, description?: string) {
  url.searchParams.delete('code')
  url.searchParams.set('error', error)
  if (description !== undefined) url.searchParams.set('error_description', description)
}

describe('a return from an administrator’s page', () => {
  test.each([
    ['admin_consent=True&tenant=t', 'approved'],
    ['admin_consent=True&tenant=t&state=unknown', 'approved'],
    ['admin_consent=True&error=access_denied', 'not_approved'],
    ['admin_consent=False', 'not_approved'],
    ['tenant=t', 'invalid'],
  ])('with %s is %s, and changes nothing', async (query, outcome) => {
    const before = await at.everything()
    const end = await at.world.flows.finishCallback({
      provider: 'microsoft',
      query: new URLSearchParams(query),
      cookie: null,
      caller: CALLER,
    })
    expect(end).toEqual({ outcome })
    expect(await at.everything()).toEqual(before)
  })
})

describe('clouds side by side', () => {
  test('a code of one cloud is not redeemed in another', async () => {
    const links = await Promise.all(
      (['gcc-high', 'dod'] as const).map(async cloud => at.world.createLink(newIn(cloud))),
    )
    const [first, second] = await Promise.all(links.map(({ token }) => at.world.begin(token)))
    if (!first || !second) throw new Error('two flows were begun')
    const { redirectUrl } = await at.sandbox.authorize(first.authorizeUrl, USERS['gcc-high'])
    const theirs = new URL((await at.sandbox.authorize(second.authorizeUrl, USERS.dod)).redirectUrl)
    const mixed = new URL(redirectUrl)
    mixed.searchParams.set('code', theirs.searchParams.get('code') ?? '')
    expect(await at.world.comeBack(first, mixed.href)).toMatchObject({
      url: expect.stringMatching(/error=(?:invalid_grant|token_exchange_failed)/),
    })
    expect(await at.accounts()).toEqual([])
    expect(await connect('dod')).toMatchObject({ cloud: 'dod', email: USERS.dod })
  })

  test('an account signs in again in its own cloud, with the app that it had', async () => {
    const account = await connect('china')
    const { token } = await at.world.createLink({
      redirectUri: newIn('china').redirectUri,
      accountId: account.id,
    })
    const begun = await at.world.begin(token)
    expect(new URL(begun.authorizeUrl).origin).toBe(at.sandbox.origin(CLOUDS.china.login))
    const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, USERS.china)
    expect(await at.world.comeBack(begun, redirectUrl)).toMatchObject({
      url: expect.stringContaining(account.id),
    })
  })

  test('another user of the same cloud cannot sign in for an account', async () => {
    const account = await connect('global')
    const { token } = await at.world.createLink({
      redirectUri: newIn('global').redirectUri,
      accountId: account.id,
    })
    expect(await at.world.signIn(token, FINN)).toMatchObject({
      url: expect.stringContaining('error=account_mismatch'),
    })
  })

  test('a personal account signs in at the global one', async () => {
    expect(await connect('global', DORA)).toMatchObject({ provider: 'graph', cloud: 'global', email: DORA })
  })
})
