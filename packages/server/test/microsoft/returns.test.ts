import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { setPastDue } from '../../src/features/tenancy/tenants/store.ts'
import { newId } from '../../src/kit/ids.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { openTestFlows } from '../connect-flows.ts'
import { type Ended, plainBrowser } from '../connect/plain-browser.ts'
import { BACK, CLOUD_NAMES, failedWith, newIn, useMicrosoft, USERS } from './use-microsoft.ts'
import { casesFor } from '../soak.ts'

const at = useMicrosoft()

const openBrowser = () => plainBrowser(at.app.address, 'microsoft')
const domainOf = (cloud: Cloud) => USERS[cloud].slice(USERS[cloud].indexOf('@') + 1)

/** The ways in which a test makes a flow end. */
interface Arranged {
  /** The answer of the person at Microsoft; by default everything is allowed. */
  person?: { deny: true | 'admin_required' }
  /** Done while the browser is at Microsoft. */
  meanwhile?: (cloud: Cloud) => unknown
  /** Changes the URL by which the browser comes back. */
  changed?: (url: URL, cloud: Cloud) => void
}

/** A flow whose user goes to Microsoft and comes back. */
async function goThrough(
  cloud: Cloud,
  { person, meanwhile, changed }: Arranged = {},
  { user = USERS[cloud], ...body }: { user?: string; [field: string]: unknown } = {},
): Promise<Ended> {
  const browser = openBrowser()
  const { token } = await at.world.createLink({ ...newIn(cloud), ...body })
  const begun = await browser.begin(token)
  const url = new URL((await at.sandbox.authorize(begun.authorizeUrl, user, person)).redirectUrl)
  await meanwhile?.(cloud)
  changed?.(url, cloud)
  return browser.comeBack(begun, url.href)
}

/** Connects the user of a cloud. @returns the account */
async function connect(cloud: Cloud): Promise<Account> {
  const ended = await goThrough(cloud)
  if (ended.outcome !== 'returned') throw new Error(JSON.stringify(ended))
  const id = new URL(ended.url).searchParams.get('account_id')
  return (await at.tenant.get<Account>(`/v1/accounts/${id}`)).body
}

const answered = (error: string, description?: string) => (url: URL) => {
  url.searchParams.delete('code')
  url.searchParams.set('error', error)
  if (description !== undefined) url.searchParams.set('error_description', description)
}
const ofToken = (rule: Record<string, unknown>) => (cloud: Cloud) =>
  at.sandbox.addFault({ host: CLOUDS[cloud].login, path: '*/oauth2/v2.0/token', count: 5, ...rule })
const ofMailbox = (rule: Record<string, unknown>) => (cloud: Cloud) =>
  at.sandbox.addFault({ host: CLOUDS[cloud].graph, path: '/v1.0/*', count: 5, ...rule })
const refused = (code: number) => (cloud: Cloud) =>
  at.sandbox.control('POST', '/token-refusals', { code, user: USERS[cloud] })
const changedApp = (change: Record<string, unknown>) => (cloud: Cloud) =>
  at.tenant.patch(`/v1/oauth-apps/${at.apps[cloud].id}`, change)
const fullPlan = async () => {
  const plan = await createPlan(at.app.db, newId(), { ...NO_LIMITS, maxAccounts: 0 })
  await assignPlan(at.app.db, at.tenant.tenantId, plan)
}

/** Ends of a flow that connects no mailbox, by their code. */
const ENDS: readonly [error: string, condition: string, Arranged][] = [
  ['access_denied', 'the user refuses', { person: { deny: true } }],
  ['token_exchange_failed', 'Microsoft reports another error', { changed: answered('server_error') }],
  ['token_exchange_failed', 'there is no code', { changed: url => url.searchParams.delete('code') }],
  [
    'token_exchange_failed',
    'another issuer answers',
    {
      changed: (url, cloud) => url.searchParams.set('iss', `https://${CLOUDS[cloud].login}/common/v2.0`),
    },
  ],
  ['invalid_grant', 'the code is not good', { changed: url => url.searchParams.set('code', 'guess') }],
  ['invalid_grant', 'a second factor is demanded', { meanwhile: refused(50_076) }],
  ['invalid_grant', 'a policy blocks the sign-in', { meanwhile: refused(53_003) }],
  ['invalid_client', 'the secret of the app is wrong', { meanwhile: changedApp({ clientSecret: 'wrong' }) }],
  ['invalid_client', 'the secret of the app has expired', { meanwhile: refused(7_000_222) }],
  ['invalid_client', 'the app is disabled', { meanwhile: refused(7_000_112) }],
  ['scope_denied', 'a permission was not granted', { meanwhile: refused(65_001) }],
  ['provider_throttled', 'Microsoft asks to slow down', { meanwhile: ofToken({ does: 'rate_limit' }) }],
  ['provider_throttled', 'the mailbox is throttled', { meanwhile: ofMailbox({ does: 'rate_limit' }) }],
  [
    'provider_unavailable',
    'the token endpoint fails',
    { meanwhile: ofToken({ does: 'error', status: 503 }) },
  ],
  ['provider_unavailable', 'Microsoft reports a passing error', { meanwhile: refused(90_033) }],
  ['provider_unavailable', 'the mailbox fails', { meanwhile: ofMailbox({ does: 'error', status: 500 }) }],
  ['access_token_rejected', 'the new token is refused', { meanwhile: ofMailbox({ does: 'unauthorized' }) }],
  [
    'provider_forbidden',
    'the mailbox is closed to the app',
    { meanwhile: ofMailbox({ does: 'error', status: 403 }) },
  ],
  ['provider_forbidden', 'the user has no mailbox', { meanwhile: ofMailbox({ does: 'error', status: 404 }) }],
  [
    'oauth_app_secret_unreadable',
    'the secret cannot be read',
    {
      meanwhile: cloud =>
        sql`update oauth_app set secret = '\\x00' where id = ${at.apps[cloud].id}`.execute(at.app.db),
    },
  ],
  [
    'provider_not_configured',
    'the app was deleted',
    { meanwhile: cloud => at.tenant.delete(`/v1/oauth-apps/${at.apps[cloud].id}`) },
  ],
  [
    'billing_past_due',
    'a payment became overdue',
    { meanwhile: () => setPastDue(at.app.db, at.tenant.tenantId, true) },
  ],
  ['plan_limit_accounts', 'the plan is full by then', { meanwhile: fullPlan }],
  [
    'session_expired',
    'the link is too old by then',
    { meanwhile: () => sql`update connect_session set expires_at = clock_timestamp()`.execute(at.app.db) },
  ],
]

describe.each(casesFor(CLOUD_NAMES, name => name === 'global'))('in the cloud %s', cloud => {
  test.each(ENDS)('a flow ends with %s if %s', async (error, _, arranged) => {
    expect(await goThrough(cloud, arranged)).toEqual(failedWith(error))
    expect(await at.accounts()).toEqual([])
  })

  test('a flow ends with scope_missing if the profile is closed to the app', async () => {
    const profile = createServer((_, response) => {
      const error = { code: 'Authorization_RequestDenied', message: 'Insufficient privileges.' }
      response.writeHead(403).end(JSON.stringify({ error }))
    })
    await once(profile.listen(0, '127.0.0.1'), 'listening')
    await using _closing = { [Symbol.asyncDispose]: async () => void profile.close() }
    const { port } = profile.address() as AddressInfo
    const hosts = { [CLOUDS[cloud].graph]: `http://127.0.0.1:${port}` }
    await using open = await openTestFlows(at.app, at.sandbox, { hosts })
    const { token } = await at.world.createLink(newIn(cloud))
    expect(await open.of(at.tenant, 'microsoft').signIn(token, USERS[cloud])).toEqual(
      failedWith('scope_missing'),
    )
  })

  test('a mailbox is connected once, and signs in again as itself alone', async () => {
    const account = await connect(cloud)
    expect(await goThrough(cloud)).toEqual(failedWith('account_exists'))
    const other = `other@${domainOf(cloud)}`
    await at.sandbox.addUser(other, { provider: 'microsoft', cloud, messages: 0 })
    const again = { providers: undefined, microsoftCloud: undefined, accountId: account.id }
    expect(await goThrough(cloud, {}, { ...again, user: other })).toEqual(failedWith('account_mismatch'))
    expect(await goThrough(cloud, {}, again)).toEqual({
      outcome: 'returned',
      url: `${BACK}?status=success&account_id=${account.id}&state=s`,
    })
    const meanwhile = () => at.tenant.delete(`/v1/accounts/${account.id}`)
    expect(await goThrough(cloud, { meanwhile }, again)).toEqual(failedWith('account_mismatch'))
    expect(await at.accounts()).toEqual([])
  })

  test('a mailbox signs in again with another app, which is its app from then on', async () => {
    const account = await connect(cloud)
    const { clientId, id: formerId } = at.apps[cloud]
    const given = { provider: 'microsoft', name: 'Second', cloud, clientId, clientSecret: `secret-${cloud}` }
    const { body: second } = await at.tenant.post<OAuthApp>('/v1/oauth-apps', given)
    const again = { providers: undefined, microsoftCloud: undefined, accountId: account.id }
    const named = { ...again, oauthAppIds: { microsoft: second.id } }
    expect(await goThrough(cloud, {}, named)).toMatchObject({ url: expect.stringContaining(account.id) })
    expect(await at.accounts()).toMatchObject([{ id: account.id, oauthAppId: second.id, cloud }])
    expect((await at.tenant.delete(`/v1/oauth-apps/${formerId}`)).status).toBe(200)
    expect(await goThrough(cloud, {}, again)).toMatchObject({ url: expect.stringContaining(account.id) })
  })

  test('a page explains that an administrator must approve, with a link that is good for that', async () => {
    const arranged = { person: { deny: 'admin_required' } } as const
    const shown = await goThrough(cloud, arranged, { loginHint: USERS[cloud] })
    if (shown.outcome !== 'shown') throw new Error(JSON.stringify(shown))
    const [approval = '', back] = shown.links
    expect([shown.status, shown.heading, back]).toEqual([
      200,
      'Your administrator must approve this first',
      failedWith('access_denied').url,
    ])
    const { origin, pathname, searchParams } = new URL(approval)
    expect([origin, pathname]).toEqual([
      at.sandbox.origin(CLOUDS[cloud].login),
      `/${domainOf(cloud)}/v2.0/adminconsent`,
    ])
    expect([...searchParams.keys()]).toEqual(['client_id', 'redirect_uri', 'scope'])

    const before = await at.everything()
    for (const [deny, heading] of [
      [true, 'The approval was not given'],
      [false, 'Thank you for the approval'],
    ] as const) {
      const { redirectUrl } = await at.sandbox.authorize(approval, USERS[cloud], { deny })
      expect(new URL(redirectUrl).searchParams.has('admin_consent')).toBe(true)
      expect(await openBrowser().comeBack(null, redirectUrl)).toMatchObject({
        status: 200,
        heading,
        links: [],
      })
    }
    expect(await at.everything()).toEqual(before)
  })
})

describe('a page with a link for an administrator is shown if Microsoft answers', () => {
  test.each([
    ['consent_required', undefined],
    ['interaction_required', undefined],
    ['access_denied', 'AADSTS65001: The user or administrator has not consented.'],
    ['access_denied', 'AADSTS90093: A policy prevents you from granting the permissions.'],
    ['access_denied', 'AADSTS90094: The grant requires admin permission.'],
    ['access_denied', 'AADSTS90095: Admin consent was requested.'],
    ['access_denied', 'AADSTS900941: Admin consent is required. The app is considered risky.'],
    ['access_denied', 'AADSTS900981: An admin consent request was received for a risky app.'],
  ])('%s, %s', async (error, description) => {
    expect(await goThrough('global', { changed: answered(error, description) })).toMatchObject({
      outcome: 'shown',
      heading: 'Your administrator must approve this first',
    })
  })

  test('and for no other refusal', async () => {
    const changed = answered('access_denied', 'AADSTS65004: User declined to consent to access the app.')
    expect(await goThrough('global', { changed })).toEqual(failedWith('access_denied'))
  })
})

describe('a return from an administrator’s page', () => {
  test.each([
    ['admin_consent=True&tenant=t', 200, 'Thank you for the approval'],
    ['admin_consent=True&tenant=t&state=unknown', 200, 'Thank you for the approval'],
    ['admin_consent=True&error=access_denied', 200, 'The approval was not given'],
    ['admin_consent=False', 200, 'The approval was not given'],
    ['tenant=t', 400, 'This sign-in cannot be finished here'],
  ])('with %s is answered %i "%s", and changes nothing', async (query, status, heading) => {
    const before = await at.everything()
    const url = `${at.app.address}/connect/callback/microsoft?${query}`
    expect(await openBrowser().comeBack(null, url)).toMatchObject({ status, heading })
    expect(await at.everything()).toEqual(before)
  })

  test('with the state of a flow under way ends that flow, and is no page of thanks', async () => {
    const changed = (url: URL) => {
      url.searchParams.set('admin_consent', 'True')
      url.searchParams.set('code', 'guess')
    }
    expect(await goThrough('global', { changed })).toEqual(failedWith('invalid_grant'))
  })
})

describe('a flow', () => {
  test('that the plan has no room for ends before the browser leaves', async () => {
    const { token } = await at.world.createLink(newIn('china'))
    await fullPlan()
    expect(await openBrowser().press(token, 'continue')).toEqual(failedWith('plan_limit_accounts'))
  })

  test('is cancelled by the button', async () => {
    const { token } = await at.world.createLink(newIn('dod'))
    expect(await openBrowser().press(token, 'cancel')).toEqual(failedWith('cancelled'))
  })
})
