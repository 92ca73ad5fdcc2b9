import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { ALL, API, MAIL, useRefreshTokens, WHO } from '../../../../test/connect/use-refresh-tokens.ts'
import { tablesWith } from '../../../../test/database-text.ts'
import { waitForLock } from '../../../../test/wait-for-lock.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { newId } from '../../../kit/ids.ts'
import { NO_LIMITS } from '../../tenancy/plans/plan.ts'
import { createPlan } from '../../tenancy/plans/store.ts'
import { setPastDue } from '../../tenancy/tenants/store.ts'
import { assignPlan } from '../plans/assign.ts'

const at = useRefreshTokens()

const tokenFor = async (scopes?: readonly string[]) => {
  const { refreshToken } = await at.newGrant(scopes)
  return { refreshToken }
}

const eventsOf = async (accountId: string) =>
  at.app.db
    .selectFrom('event')
    .select(['type', 'data'])
    .where('account_id', '=', accountId)
    .orderBy('id')
    .execute()

const setStatus = (id: string, status: 'reauth_required' | 'disabled' | 'paused') =>
  at.app.db.updateTable('account').set({ status, status_reason: 'a test' }).where('id', '=', id).execute()

describe('POST /v1/accounts', () => {
  test('connects the mailbox that the provider names, and keeps its tokens to itself', async () => {
    const { email, refreshToken } = await at.newGrant()
    const answer = await at.connect(refreshToken, { externalRef: 'crm-1', settings: { undoSendSeconds: 5 } })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        email,
        provider: 'gmail',
        displayName: expect.stringContaining('User'),
        externalRef: 'crm-1',
        oauthAppId: null,
        cloud: null,
        status: 'active',
        statusReason: null,
        imap: null,
        auth: { method: 'oauth' },
        settings: { calendarEnabled: true, contactsEnabled: false, undoSendSeconds: 5 },
        settingsOverride: { undoSendSeconds: 5 },
      },
    })
    const { id } = answer.body
    expect((await at.app.get(`/v1/accounts/${id}`)).body).toEqual(answer.body)
    expect(await eventsOf(id)).toEqual([
      {
        type: 'account.connected',
        data: { email, provider: 'gmail', cloud: null, externalRef: 'crm-1', reauthorized: false },
      },
    ])
    const { body } = await at.app.get<{ items: unknown[] }>(`/v1/audit-log?accountId=${id}`)
    expect(body.items).toMatchObject([{ action: 'account.create', targets: { accountId: id } }])

    expect(await tablesWith(at.app.db, refreshToken)).toEqual([])
    expect(at.app.logLines.join()).not.toContain(refreshToken)
    expect(at.app.logLines.join()).not.toMatch(/ya29\./)
  })

  test('keeps the newest refresh token that the provider gives', async () => {
    const email = await at.newUser()
    await at.sandbox.addClient({
      clientId: 'rotating',
      clientSecret: 'rotating-secret',
      singleUseRefreshTokens: true,
    })
    const made = await at.app.post<{ id: string }>('/v1/oauth-apps', {
      provider: 'google',
      name: 'Rotating',
      clientId: 'rotating',
      clientSecret: 'rotating-secret',
    })
    const { refreshToken } = await at.sandbox.grant(email, ALL, 'rotating')
    const answer = await at.connect(refreshToken, { oauthAppId: made.body.id })
    expect(answer).toMatchObject({ status: 200, body: { email, oauthAppId: made.body.id } })
    expect(await at.connect(refreshToken, { oauthAppId: made.body.id })).toMatchObject({
      status: 400,
      body: { code: 'invalid_grant' },
    })
    await at.app.delete(`/v1/accounts/${answer.body.id}`)
    expect(await at.app.delete(`/v1/oauth-apps/${made.body.id}`)).toMatchObject({ status: 200 })
  })

  test.each<[string, () => Promise<Record<string, unknown>>, status: number, code: string]>([
    ['a refresh token that is none', async () => ({ refreshToken: '1//nothing' }), 400, 'invalid_grant'],
    [
      'a token of another app',
      async () => {
        await at.sandbox.addClient({ clientId: 'other', clientSecret: 'other-secret' })
        const { refreshToken } = await at.sandbox.grant(await at.newUser(), ALL, 'other')
        return { refreshToken }
      },
      400,
      'invalid_client',
    ],
    ['a token without mail', () => tokenFor([...WHO, `${API}calendar`]), 400, 'scope_missing'],
    ['a token that only reads', () => tokenFor([...WHO, `${API}gmail.readonly`]), 400, 'scope_missing'],
    [
      'a calendar that is turned on without its permission',
      async () => ({ ...(await tokenFor([...WHO, MAIL])), settings: { calendarEnabled: true } }),
      400,
      'scope_missing',
    ],
    [
      'the token of a suspended user',
      async () => {
        const grant = await at.newGrant()
        await at.sandbox.changeUser(grant.email, { suspended: true })
        return { refreshToken: grant.refreshToken }
      },
      400,
      'invalid_grant',
    ],
    ['Microsoft', async () => ({ provider: 'microsoft', refreshToken: 'x' }), 400, 'provider_not_configured'],
    [
      'a cloud of Microsoft with Google',
      async () => ({ ...(await tokenFor()), microsoftCloud: 'global' }),
      400,
      'not_microsoft',
    ],
    [
      'an app that is none',
      async () => ({ ...(await tokenFor()), oauthAppId: newId() }),
      422,
      'unknown_oauth_app',
    ],
    [
      'a honeypot without tracked clicks',
      async () => ({ ...(await tokenFor()), settings: { trackingHoneypot: true } }),
      400,
      'honeypot_needs_click_tracking',
    ],
    ['no refresh token', async () => ({}), 400, 'invalid_input'],
    ['an empty refresh token', async () => ({ refreshToken: '' }), 400, 'invalid_input'],
    ['a refresh token of two lines', async () => ({ refreshToken: 'a\nb' }), 400, 'invalid_input'],
    [
      'a field that does not exist',
      async () => ({ refreshToken: 'a', email: 'a@b.c' }),
      400,
      'invalid_input',
    ],
  ])('refuses %s, and stores nothing', async (_, make, status, code) => {
    const sent = await make()
    const counted = await countAccounts()
    const answer = await at.app.post('/v1/accounts', { provider: 'google', ...sent })
    expect(answer).toMatchObject({ status, body: { code, defined: true } })
    expect(await countAccounts()).toBe(counted)
  })

  test.each([
    [{ does: 'rate_limit', retryAfterSeconds: 9, host: 'oauth2.googleapis.com' }, 429, 'provider_throttled'],
    [{ does: 'error', status: 503, host: 'oauth2.googleapis.com' }, 502, 'provider_unavailable'],
    [{ does: 'torn', host: 'oauth2.googleapis.com' }, 502, 'provider_unavailable'],
    [{ does: 'unauthorized', host: 'gmail.googleapis.com' }, 400, 'access_token_rejected'],
    [{ does: 'rate_limit', host: 'gmail.googleapis.com' }, 429, 'provider_throttled'],
  ])('passes on the trouble of the provider: %o', async (fault, status, code) => {
    const { refreshToken } = await at.newGrant()
    await at.sandbox.addFault({ ...fault, count: 1 })
    const answer = await at.connect(refreshToken)
    expect(answer).toMatchObject({ status, body: { code } })
    expect(answer.headers.get('retry-after')).toBe('retryAfterSeconds' in fault ? '9' : null)
    await at.sandbox.clearFaults()
    expect(await at.connect(refreshToken)).toMatchObject({ status: 200 })
  })

  test.each([
    ['named', 422, 'unknown_oauth_app'],
    ['the default', 400, 'provider_not_configured'],
  ])('refuses an app that is deleted meanwhile: %s', async (which, status, code) => {
    const other = await at.app.createTenant(`deletes ${newId()}`)
    const given = { provider: 'google', name: 'M', clientId: 'sandbox', clientSecret: 'sandbox-secret' }
    const { body: made } = await other.post<{ id: string }>('/v1/oauth-apps', given)
    const { refreshToken } = await at.newGrant()
    const profile = { host: 'gmail.googleapis.com', path: '/gmail/v1/users/me/profile' }
    const asked = async () => (await at.sandbox.calls(profile)).items.length
    const before = await asked()
    const answer = await at.app.db.transaction().execute(async deleting => {
      await sql`delete from oauth_app where id = ${made.id}`.execute(deleting)
      const waiting = at.connect(refreshToken, which === 'named' ? { oauthAppId: made.id } : {}, other)
      await waitUntil('the provider', async () => (await asked()) > before)
      return { waiting }
    })
    expect(await answer.waiting).toMatchObject({ status, body: { code } })
  })

  test('refuses a tenant whose payment becomes overdue during the calls to the provider', async () => {
    const other = await at.app.createTenant('overdue')
    const { refreshToken } = await at.newGrant()
    const answer = await at.app.db.transaction().execute(async billing => {
      await setPastDue(billing, other.tenantId, true)
      const waiting = at.connect(refreshToken, {}, other)
      await waitForLock(at.app.db)
      return { waiting }
    })
    expect(await answer.waiting).toMatchObject({ status: 402, body: { code: 'billing_past_due' } })
    expect((await other.get<{ items: unknown[] }>('/v1/accounts')).body.items).toEqual([])
  })

  test('turns off halves that the user did not grant, until they are granted', async () => {
    const { email, refreshToken } = await at.newGrant([...WHO, MAIL])
    const { body: account } = await at.connect(refreshToken)
    expect(account).toMatchObject({
      settings: { calendarEnabled: false },
      settingsOverride: { calendarEnabled: false },
    })
    const turnOn = () => at.app.patch(`/v1/accounts/${account.id}`, { settings: { calendarEnabled: true } })
    const refused = { status: 400, body: { code: 'scope_missing' } }
    expect(await turnOn()).toMatchObject(refused)
    expect(
      await at.app.patch(`/v1/accounts/${account.id}`, { resetSettings: ['calendarEnabled'] }),
    ).toMatchObject(refused)
    expect(
      await at.app.patch(`/v1/accounts/${account.id}`, {
        externalRef: 'x',
        settings: { contactsEnabled: true },
      }),
    ).toMatchObject(refused)
    expect((await at.app.get<Account>(`/v1/accounts/${account.id}`)).body.externalRef).toBeNull()

    await setStatus(account.id, 'reauth_required')
    await at.connect((await at.newGrant(ALL, email)).refreshToken)
    expect(await turnOn()).toMatchObject({ status: 200, body: { settings: { calendarEnabled: true } } })
  })

  test('recognises the user, even under another address', async () => {
    const { email, refreshToken } = await at.newGrant()
    const { body: account } = await at.connect(refreshToken, { externalRef: 'one' })
    const again = await at.newGrant(ALL, email)
    const exists = {
      status: 409,
      body: { code: 'account_exists', message: expect.stringContaining(account.id) },
    }
    expect(await at.connect(again.refreshToken)).toMatchObject(exists)
    await at.app.db
      .updateTable('account')
      .set({ email: 'old@gmail.test' })
      .where('id', '=', account.id)
      .execute()
    expect(await at.connect(again.refreshToken)).toMatchObject(exists)
    // Without openid there is no subject, and the address counts.
    await at.app.db.updateTable('account').set({ email }).where('id', '=', account.id).execute()
    expect(await at.connect((await at.newGrant([MAIL], email)).refreshToken)).toMatchObject(exists)
  })

  test.each(['reauth_required', 'disabled'] as const)(
    'renews an account that is %s, under its own externalRef or none',
    async status => {
      const { email, refreshToken } = await at.newGrant()
      const { body: account } = await at.connect(refreshToken, { externalRef: 'one' })
      await setStatus(account.id, status)
      await at.app.db
        .updateTable('account')
        .set({ email: 'old@gmail.test' })
        .where('id', '=', account.id)
        .execute()
      const again = await at.newGrant(ALL, email)
      expect(await at.connect(again.refreshToken, { externalRef: 'two' })).toMatchObject({ status: 409 })
      const renewed = await at.connect(again.refreshToken, { externalRef: 'one' })
      expect(renewed).toMatchObject({
        status: 200,
        body: { id: account.id, email, status: 'active', statusReason: null, externalRef: 'one' },
      })
      expect((await eventsOf(account.id)).map(({ type }) => type)).toEqual([
        'account.connected',
        'account.updated',
        'account.connected',
      ])
      expect((await eventsOf(account.id)).at(-1)?.data).toMatchObject({ reauthorized: true })
    },
  )

  test('does not give the account of a former user to the present user of the address', async () => {
    const { email, refreshToken } = await at.newGrant()
    const { body: account } = await at.connect(refreshToken)
    await at.app.db
      .updateTable('account')
      .set({ subject: 'google:former', status: 'reauth_required' })
      .where('id', '=', account.id)
      .execute()
    expect(await at.connect((await at.newGrant(ALL, email)).refreshToken)).toMatchObject({
      status: 409,
      body: { code: 'account_exists' },
    })
    expect((await at.app.get(`/v1/accounts/${account.id}`)).body).toMatchObject({ status: 'reauth_required' })
  })

  test('learns the user of an account that was connected without one', async () => {
    const { email, refreshToken } = await at.newGrant([MAIL])
    const { body: account } = await at.connect(refreshToken)
    const subject = async () =>
      (
        await at.app.db
          .selectFrom('account')
          .select('subject')
          .where('id', '=', account.id)
          .executeTakeFirstOrThrow()
      ).subject
    expect(account.displayName).toBeNull()
    expect(await subject()).toBeNull()
    await setStatus(account.id, 'reauth_required')
    const renewed = await at.connect((await at.newGrant(ALL, email)).refreshToken)
    expect(renewed.body).toMatchObject({ id: account.id, displayName: expect.stringContaining('User') })
    expect(await subject()).toMatch(/^google:/)
  })

  test('connects one account for twenty requests at once', async () => {
    const { refreshToken } = await at.newGrant()
    const answers = await Promise.all(Array.from({ length: 12 }, () => at.connect(refreshToken)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
  })

  test(
    'keeps to the plan and to payments, but renews under a full plan',
    { tags: ['postgres-16'] },
    async () => {
      const other = await at.app.createTenant('limited')
      const { email, refreshToken } = await at.newGrant()
      const { body: account } = await at.connect(refreshToken, {}, other)
      const limits = { bodyStorageAllowed: false, maxAccounts: 1 }
      const plan = await createPlan(at.app.db, 'one account', { ...NO_LIMITS, ...limits })
      await assignPlan(at.app.db, other.tenantId, plan)
      const more = await at.newGrant()
      const before = (await at.sandbox.calls({ host: 'oauth2.googleapis.com' })).items.length
      expect(await at.connect(more.refreshToken, {}, other)).toMatchObject({
        status: 403,
        body: { code: 'plan_limit_accounts' },
      })
      expect(await at.connect(more.refreshToken, { settings: { bodyStorage: 'full' } }, other)).toMatchObject(
        {
          status: 403,
          body: { code: 'plan_limit_storage' },
        },
      )
      await setPastDue(at.app.db, other.tenantId, true)
      expect(await at.connect(more.refreshToken, {}, other)).toMatchObject({
        status: 402,
        body: { code: 'billing_past_due' },
      })
      await setPastDue(at.app.db, other.tenantId, false)
      expect((await at.sandbox.calls({ host: 'oauth2.googleapis.com' })).items).toHaveLength(before)

      await setStatus(account.id, 'reauth_required')
      expect(await at.connect(more.refreshToken, {}, other)).toMatchObject({
        status: 403,
        body: { code: 'plan_limit_accounts' },
      })
      const again = await at.newGrant(ALL, email)
      expect(await at.connect(again.refreshToken, {}, other)).toMatchObject({
        status: 200,
        body: { id: account.id, status: 'active' },
      })
    },
  )
})

async function countAccounts(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from account`.execute(at.app.db)
  return rows[0]?.count ?? 0
}
