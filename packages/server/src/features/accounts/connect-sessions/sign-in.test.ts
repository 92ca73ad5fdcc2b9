import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  ADA,
  BACK,
  BEN,
  CALENDAR,
  failedWith,
  MODIFY,
  NEW,
  useFlows,
} from '../../../../test/connect/use-flows.ts'
import { CALLER } from '../../../../test/connect-flows.ts'
import { tablesWith } from '../../../../test/database-text.ts'
import { eventsOf } from '../../../../test/imap-accounts.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { newId } from '../../../kit/ids.ts'
import { NO_LIMITS } from '../../tenancy/plans/plan.ts'
import { createPlan } from '../../tenancy/plans/store.ts'
import { assignPlan } from '../plans/assign.ts'

const at = useFlows()

describe('a flow by Google', () => {
  test('connects the mailbox, and returns with its account', { tags: ['postgres-16'] }, async () => {
    const { id, token } = await at.world.createLink({
      ...NEW,
      externalRef: 'user-1',
      options: { settings: { syncWindowDays: 30, contactsEnabled: true } },
    })
    expect(await at.world.flows.find(token)).toMatchObject({
      state: 'pending',
      tenantName: expect.stringMatching(/^tenant /),
      providers: ['google'],
      passwordImap: false,
      reauthEmail: null,
    })
    const shown = await at.world.flows.showContinue(token, 'google')
    expect(shown).toMatchObject({ outcome: 'shown', scopes: expect.arrayContaining([MODIFY, CALENDAR]) })

    const end = await at.world.signIn(token, ADA)

    const [account] = await at.accounts()
    expect(account).toMatchObject({
      provider: 'gmail',
      email: ADA,
      externalRef: 'user-1',
      oauthAppId: at.googleApp.id,
      cloud: null,
      status: 'active',
      auth: { method: 'oauth' },
      settings: { syncWindowDays: 30, calendarEnabled: true, contactsEnabled: true },
    })
    const url = `${BACK}?status=success&account_id=${account?.id}&state=s`
    expect(end).toEqual({ outcome: 'returned', url })
    expect(await at.read(id)).toMatchObject({
      status: 'completed',
      error: null,
      accountId: account?.id,
      email: ADA,
    })
    expect(await at.world.flows.find(token)).toMatchObject({ state: 'completed' })
    expect(await eventsOf(at.tenant)).toMatchObject([
      {
        type: 'account.connected',
        accountId: account?.id,
        data: { email: ADA, provider: 'gmail', externalRef: 'user-1', reauthorized: false },
      },
    ])
    expect(await at.endRows()).toEqual([
      {
        actor_type: 'connectSession',
        actor_id: id,
        surface: 'hosted',
        targets: { sessionId: id, accountId: account?.id },
        ip: CALLER.ip,
        user_agent: CALLER.userAgent,
        status: 200,
        error_reason: null,
      },
    ])
    expect((await at.tenant.get(`/v1/oauth-apps/${at.googleApp.id}`)).body).toMatchObject({ accounts: 1 })
    expect(await at.tenant.delete(`/v1/oauth-apps/${at.googleApp.id}`)).toMatchObject({
      body: { code: 'oauth_app_in_use' },
    })
  })

  test('leaves no secret of the browser, the code or the tokens in any table or log line', async () => {
    const { token } = await at.world.createLink(NEW)
    const begun = await at.world.begin(token)
    const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, ADA)
    await at.world.comeBack(begun, redirectUrl)
    const sent = new URL(begun.authorizeUrl).searchParams
    const came = new URL(redirectUrl).searchParams
    const secrets = [
      token,
      sent.get('state'),
      sent.get('nonce'),
      came.get('code'),
      ...begun.cookie.split('.'),
    ]
    expect(sent.get('code_challenge_method')).toBe('S256')
    for (const secret of secrets) {
      expect(secret?.length).toBeGreaterThan(10)
      expect(await tablesWith(at.app.db, secret ?? '')).toEqual([])
      expect(at.app.logLines.join('')).not.toContain(secret)
    }
  })

  test('without a page of choice returns the same, and its audit row names the authorization', async () => {
    const { token } = await at.world.createLink({ provider: 'google', redirectUri: BACK, state: 's' })
    expect(await at.world.flows.find(token)).toMatchObject({ kind: 'headless', providers: ['google'] })
    const end = await at.world.signIn(token, ADA)
    const [account] = await at.accounts()
    const url = `${BACK}?status=success&account_id=${account?.id}&state=s`
    expect(end).toEqual({ outcome: 'returned', url })
    const [row] = await at.endRows()
    expect(row?.['targets']).toEqual({ authorizationId: row?.['actor_id'], accountId: account?.id })
  })

  test('turns off halves that the user left out, but not mail', async () => {
    const { token } = await at.world.createLink(NEW)
    const end = await at.world.signIn(token, ADA, { scopes: ['openid', 'email', 'profile', MODIFY] })
    expect(end).toMatchObject({ url: expect.stringContaining('status=success') })
    const [account] = await at.accounts()
    expect(account).toMatchObject({
      settings: { calendarEnabled: false },
      settingsOverride: { calendarEnabled: false },
    })
  })

  test('asks for no calendars and contacts that the plan does not include', async () => {
    const plan = await createPlan(at.app.db, newId(), { ...NO_LIMITS, modules: [] })
    await assignPlan(at.app.db, at.tenant.tenantId, plan)
    const { token } = await at.world.createLink({
      ...NEW,
      options: { settings: { calendarEnabled: true, contactsEnabled: true } },
    })
    const { authorizeUrl } = await at.world.begin(token)
    const scopes = new URL(authorizeUrl).searchParams.get('scope') ?? ''
    expect(scopes).toContain(MODIFY)
    expect(scopes).not.toMatch(/calendar|contacts/)
  })

  test('asks for the scopes of the app in place of the defaults', async () => {
    await at.tenant.patch(`/v1/oauth-apps/${at.googleApp.id}`, { scopes: ['https://mail.google.com/'] })
    const { token } = await at.world.createLink(NEW)
    const { authorizeUrl } = await at.world.begin(token)
    expect(new URL(authorizeUrl).searchParams.get('scope')?.split(' ').toSorted()).toEqual([
      'email',
      'https://mail.google.com/',
      'openid',
      'profile',
    ])
  })

  test.each([
    ['the one of the session', { loginHint: ADA }, null, ADA],
    ['the one that was typed', { loginHint: ADA }, BEN, BEN],
    ['none', {}, null, null],
  ])('suggests an address: %s', async (_, change, typed, expected) => {
    const { token } = await at.world.createLink({ ...NEW, ...change })
    const given = { provider: 'google', nonce: newId(), loginHint: typed, caller: CALLER }
    const begun = await at.world.flows.begin(token, given)
    const url = begun.outcome === 'begun' ? new URL(begun.authorizeUrl) : null
    expect(url?.searchParams.get('login_hint')).toBe(expected)
  })

  test('ends on the page of the link without a redirectUri, or if it is no longer listed', async () => {
    for (const redirectUri of [undefined, BACK]) {
      const { token } = await at.world.createLink({ ...NEW, redirectUri })
      await at.tenant.patch('/v1/settings', { redirectUris: [] })
      const end = await at.world.signIn(token, redirectUri ? BEN : ADA)
      expect(end).toEqual({ outcome: 'returned', url: `${at.app.address}/connect/${token}` })
      await at.tenant.patch('/v1/settings', { redirectUris: [BACK] })
    }
  })
})

describe('the app of a sign-in', () => {
  const clientOf = (url: string) => new URL(url).searchParams.get('client_id')
  const add = async (clientId: string) => {
    const given = { provider: 'google', name: clientId, clientId, clientSecret: 's' }
    return (await at.tenant.post<OAuthApp>('/v1/oauth-apps', given)).body
  }

  test('is the named one, else the oldest of the tenant', async () => {
    const second = await add('second')
    const oldest = await at.world.createLink(NEW)
    expect(clientOf((await at.world.begin(oldest.token)).authorizeUrl)).toBe('sandbox')
    const named = await at.world.createLink({ ...NEW, oauthAppIds: { google: second.id } })
    expect(clientOf((await at.world.begin(named.token)).authorizeUrl)).toBe('second')
  })

  test('is that of the account that signs in again', async () => {
    const second = await add('second')
    const account = await sampleAccount(at.app.db, at.tenant.tenantId, {
      provider: 'gmail',
      auth_method: 'oauth',
      imap: null,
      oauth_app_id: second.id,
    })
    const { token } = await at.world.createLink({ redirectUri: BACK, accountId: account.id })
    expect(clientOf((await at.world.begin(token)).authorizeUrl)).toBe('second')
  })
})

describe('an account that signs in again', () => {
  async function lose() {
    const { token } = await at.world.createLink(NEW)
    await at.world.signIn(token, ADA)
    await sql`update account set status = 'reauth_required', status_reason = 'invalid_grant'
      where tenant_id = ${at.tenant.tenantId}`.execute(at.app.db)
    const [account] = await at.accounts()
    if (!account) throw new Error('nothing was connected')
    return account
  }

  test('gets a new grant of the same mailbox', async () => {
    const account = await lose()
    const link = await at.world.createLink({ ...NEW, providers: undefined, accountId: account.id })
    expect(await at.world.flows.find(link.token)).toMatchObject({ reauthEmail: ADA, providers: ['google'] })
    const begun = await at.world.begin(link.token)
    expect(new URL(begun.authorizeUrl).searchParams.get('login_hint')).toBe(ADA)
    const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, ADA)
    const url = `${BACK}?status=success&account_id=${account.id}&state=s`
    expect(await at.world.comeBack(begun, redirectUrl)).toEqual({ outcome: 'returned', url })
    expect(await at.accounts()).toMatchObject([{ id: account.id, status: 'active', statusReason: null }])
    expect((await eventsOf(at.tenant)).at(-1)).toMatchObject({
      type: 'account.connected',
      data: { reauthorized: true },
    })
    expect(await at.read(link.id)).toMatchObject({ status: 'completed', accountId: account.id, email: ADA })
  })

  const MAIL_ONLY = ['openid', 'email', 'profile', MODIFY]
  const settingsOf = async () => (await at.accounts())[0]
  const reconnect = async (id: string) =>
    (await at.world.createLink({ redirectUri: BACK, state: 's', accountId: id })).token

  test('is asked for calendars and contacts that it lacks, and can turn them on then', async () => {
    await at.world.signIn((await at.world.createLink(NEW)).token, ADA, { scopes: MAIL_ONLY })
    const account = (await settingsOf())!
    const turnOn = () =>
      at.tenant.patch(`/v1/accounts/${account.id}`, {
        settings: { calendarEnabled: true, contactsEnabled: true },
      })
    expect(await turnOn()).toMatchObject({ status: 400, body: { code: 'scope_missing' } })
    await at.world.signIn(await reconnect(account.id), ADA)
    expect(await settingsOf()).toMatchObject({
      settings: { calendarEnabled: false, contactsEnabled: false },
      settingsOverride: { calendarEnabled: false },
    })
    expect(await turnOn()).toMatchObject({
      status: 200,
      body: { settings: { calendarEnabled: true, contactsEnabled: true } },
    })
  })

  test('never turns on a half without its permission, even if the tenant turns it on', async () => {
    await at.world.signIn((await at.world.createLink(NEW)).token, ADA)
    const account = (await settingsOf())!
    await at.tenant.patch('/v1/settings', { contactsEnabled: true })
    expect(await settingsOf()).toMatchObject({ settings: { contactsEnabled: false }, settingsOverride: {} })
    await at.tenant.patch(`/v1/accounts/${account.id}`, { settings: { undoSendSeconds: 5 } })
    await at.world.signIn(await reconnect(account.id), ADA)
    expect(await settingsOf()).toMatchObject({
      settings: { contactsEnabled: true },
      settingsOverride: { undoSendSeconds: 5 },
    })
  })

  test('keeps the setting of a half, and applies it once the plan includes the half', async () => {
    const plan = await createPlan(at.app.db, newId(), { ...NO_LIMITS, modules: [] })
    await assignPlan(at.app.db, at.tenant.tenantId, plan)
    await at.world.signIn((await at.world.createLink(NEW)).token, ADA)
    const account = (await settingsOf())!
    expect(account).toMatchObject({ settings: { calendarEnabled: false }, settingsOverride: {} })
    await assignPlan(at.app.db, at.tenant.tenantId, await createPlan(at.app.db, newId(), NO_LIMITS))
    await at.world.signIn(await reconnect(account.id), ADA)
    expect(await settingsOf()).toMatchObject({ settings: { calendarEnabled: true }, settingsOverride: {} })
  })

  test('refuses another mailbox, and keeps its grant', { tags: ['postgres-16'] }, async () => {
    const account = await lose()
    const grants = async () =>
      (await sql`select * from oauth_grant order by account_id`.execute(at.app.db)).rows
    const before = await grants()
    const link = await at.world.createLink({ ...NEW, accountId: account.id })
    expect(await at.world.signIn(link.token, BEN)).toEqual(failedWith('account_mismatch'))
    expect(await grants()).toEqual(before)
    expect(await at.accounts()).toMatchObject([{ id: account.id, email: ADA, status: 'reauth_required' }])
    expect(await at.read(link.id)).toMatchObject({ status: 'failed', error: 'account_mismatch' })
  })

  test('ends with account_mismatch once it is deleted', async () => {
    const account = await lose()
    const [early, late] = [
      await at.world.createLink({ ...NEW, accountId: account.id }),
      await at.world.createLink({ ...NEW, accountId: account.id }),
    ]
    const begun = await at.world.begin(late.token)
    await at.tenant.delete(`/v1/accounts/${account.id}`)
    expect(
      await at.world.flows.begin(early.token, {
        provider: 'google',
        nonce: newId(),
        loginHint: null,
        caller: CALLER,
      }),
    ).toEqual({ outcome: 'ended', end: failedWith('account_mismatch') })
    const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, ADA)
    expect(await at.world.comeBack(begun, redirectUrl)).toEqual(failedWith('account_mismatch'))
  })

  test('that waits for a new grant is renewed by a flow for a new account', async () => {
    const account = await lose()
    const { token } = await at.world.createLink(NEW)
    await at.world.signIn(token, ADA)
    expect(await at.accounts()).toMatchObject([{ id: account.id, status: 'active' }])
  })
})

test('a link of a suspended tenant is unknown', async () => {
  const { token } = await at.world.createLink(NEW)
  await sql`update tenant set suspended_at = clock_timestamp() where id = ${at.tenant.tenantId}`.execute(
    at.app.db,
  )
  expect(await at.world.flows.find(token)).toBeNull()
  expect(await at.world.flows.find('A'.repeat(43))).toBeNull()
  expect(await at.world.flows.find('malformed')).toBeNull()
})
