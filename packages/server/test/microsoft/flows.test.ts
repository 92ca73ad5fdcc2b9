import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { CLOUD_NAMES, DORA, newIn, useMicrosoft, USERS } from './use-microsoft.ts'
import { casesFor } from '../soak.ts'

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

const WALKED_CLOUDS = casesFor(CLOUD_NAMES, cloud => cloud === 'global' || cloud === 'china')

describe.each(WALKED_CLOUDS)('in the cloud %s', cloud => {
  const { graph } = CLOUDS[cloud]

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

  test('a personal account signs in at the global one', async () => {
    expect(await connect('global', DORA)).toMatchObject({ provider: 'graph', cloud: 'global', email: DORA })
  })
})
