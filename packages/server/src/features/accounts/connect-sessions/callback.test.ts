import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { ADA, BEN, CALENDAR, failedWith, NEW, useFlows } from '../../../../test/connect/use-flows.ts'
import { CALLER, openTestFlows } from '../../../../test/connect-flows.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { newId } from '../../../kit/ids.ts'
import { NO_LIMITS } from '../../tenancy/plans/plan.ts'
import { createPlan } from '../../tenancy/plans/store.ts'
import { setPastDue } from '../../tenancy/tenants/store.ts'
import { assignPlan } from '../plans/assign.ts'

const at = useFlows()

/** Fails calls of one kind once. */
const fault = (host: string, path: string, rule: Record<string, unknown>) => () =>
  at.sandbox.addFault({ host, path, count: 5, ...rule })
const ofToken = (rule: Record<string, unknown>) => fault('oauth2.googleapis.com', '/token', rule)
const ofMailbox = (rule: Record<string, unknown>) =>
  fault('gmail.googleapis.com', '/gmail/v1/users/me/profile', rule)
const changeApp = (change: Record<string, unknown>) => () =>
  at.tenant.patch(`/v1/oauth-apps/${at.googleApp.id}`, change)

describe('a sign-in that fails ends the flow, and returns', () => {
  test.each<[string, string, () => unknown, ((url: URL) => void)?]>([
    ['access_denied', 'the provider says so', () => {}, url => answerWith(url, 'access_denied')],
    ['access_denied', 'an administrator must approve', () => {}, url => answerWith(url, 'consent_required')],
    ['token_exchange_failed', 'anything else is said', () => {}, url => answerWith(url, 'server_error')],
    ['token_exchange_failed', 'there is no code', () => {}, url => url.searchParams.delete('code')],
    [
      'token_exchange_failed',
      'another issuer answers',
      () => {},
      url => url.searchParams.set('iss', 'https://evil.example'),
    ],
    ['invalid_grant', 'the code is not good', () => {}, url => url.searchParams.set('code', 'guess')],
    ['invalid_client', 'the secret of the app is wrong', changeApp({ clientSecret: 'wrong' })],
    ['provider_throttled', 'the provider asks to slow down', ofToken({ does: 'rate_limit' })],
    ['provider_unavailable', 'the provider fails', ofToken({ does: 'error', status: 503 })],
    ['access_token_rejected', 'the new token is refused', ofMailbox({ does: 'unauthorized' })],
    ['provider_unavailable', 'the mailbox cannot be read', ofMailbox({ does: 'error', status: 500 })],
    ['provider_forbidden', 'the mailbox is closed to the app', ofMailbox({ does: 'error', status: 403 })],
    ['billing_past_due', 'a payment became overdue', () => setPastDue(at.app.db, at.tenant.tenantId, true)],
    [
      'oauth_app_secret_unreadable',
      'the secret cannot be read',
      () => sql`update oauth_app set secret = '\\x00' where id = ${at.googleApp.id}`.execute(at.app.db),
    ],
    [
      'provider_not_configured',
      'the app was deleted',
      () => at.tenant.delete(`/v1/oauth-apps/${at.googleApp.id}`),
    ],
    ['session_expired', 'the link is too old by then', () => at.expire('connect_session')],
  ])('%s if %s', async (error, _, arrange, change) => {
    const { id, token } = await at.world.createLink(NEW)
    const begun = await at.world.begin(token)
    const url = new URL((await at.sandbox.authorize(begun.authorizeUrl, ADA)).redirectUrl)
    await arrange()
    change?.(url)
    expect(await at.world.comeBack(begun, url.href)).toEqual(failedWith(error))
    expect(await at.read(id)).toMatchObject({ status: 'failed', error, accountId: null })
    expect(await at.accounts()).toEqual([])
    const rows = await at.endRows()
    expect(rows).toMatchObject([{ actor_id: id, targets: { sessionId: id }, error_reason: error }])
    expect(rows[0]?.['status']).toBeGreaterThanOrEqual(400)
    expect(await at.world.comeBack(begun, url.href)).toEqual({ outcome: 'invalid' })
  })

  test.each<[string, number, object]>([
    ['scope_missing', 403, { message: 'x', errors: [{ reason: 'insufficientPermissions' }] }],
    ['provider_forbidden', 400, { message: 'Mail service not enabled' }],
  ])('%s if the mailbox answers so with %i', async (error, status, said) => {
    const mailbox = createServer((_, response) => {
      response.writeHead(status).end(JSON.stringify({ error: { code: status, ...said } }))
    })
    await once(mailbox.listen(0, '127.0.0.1'), 'listening')
    await using _closing = { [Symbol.asyncDispose]: async () => void mailbox.close() }
    const { port } = mailbox.address() as AddressInfo
    const hosts = { 'gmail.googleapis.com': `http://127.0.0.1:${port}` }
    await using open = await openTestFlows(at.app, at.sandbox, { hosts })
    const { token } = await at.world.createLink(NEW)
    expect(await open.of(at.tenant).signIn(token, ADA)).toEqual(failedWith(error))
    expect(await at.accounts()).toEqual([])
  })

  test('internal_error if the account cannot be stored, with an error in the log', async () => {
    const { id, token } = await at.world.createLink(NEW)
    await sql`
      create function fail_insert() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$;
      create trigger fail_insert before insert on account execute function fail_insert()
    `.execute(at.app.db)
    const before = at.app.logLines.length
    expect(await at.world.signIn(token, ADA)).toEqual(failedWith('internal_error'))
    await sql`drop trigger fail_insert on account`.execute(at.app.db)
    expect(await at.read(id)).toMatchObject({ status: 'failed', error: 'internal_error' })
    expect(await at.accounts()).toEqual([])
    expect(at.app.logLines.slice(before).join()).toContain('A connect flow failed')
  })

  test.each([
    ['the token endpoint', 'oauth2.googleapis.com', '/token'],
    ["the host of Google's keys", 'www.googleapis.com', '/oauth2/v3/certs'],
    ['the mailbox', 'gmail.googleapis.com', '/gmail/v1/users/me/profile'],
  ])('if %s accepts the call and never answers, while pages answer', async (_, host, path) => {
    await using open = await openTestFlows(at.app, at.sandbox, { exchangeSeconds: 1 })
    const world = open.of(at.tenant)
    const [{ id, token }, other] = [await world.createLink(NEW), await world.createLink(NEW)]
    const begun = await world.begin(token)
    const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, ADA)
    await at.sandbox.addFault({ does: 'hang', host, path })
    const coming = world.comeBack(begun, redirectUrl)
    // Under load the time may be over before the call is sent.
    await Promise.race([coming, waitUntil('the call', async () => (await hanging(host)) > 0)])
    expect((await fetch(`${at.app.address}/connect/${other.token}`)).status).toBe(200)
    expect(await coming).toEqual(failedWith('provider_unavailable'))
    expect(await at.read(id)).toMatchObject({ status: 'failed', error: 'provider_unavailable' })
    expect(await at.accounts()).toEqual([])
  })

  test('with a line in the log that has the reason, and no answer of the provider', async () => {
    const { token } = await at.world.createLink(NEW)
    const begun = await at.world.begin(token)
    const url = new URL((await at.sandbox.authorize(begun.authorizeUrl, ADA)).redirectUrl)
    url.searchParams.set('code', 'guess')
    const before = at.app.logLines.length
    await at.world.comeBack(begun, url.href)
    const lines = at.app.logLines.slice(before).map(line => JSON.parse(line) as Record<string, unknown>)
    expect(lines.filter(({ message }) => message === 'A connect flow was refused')).toEqual([
      {
        level: expect.anything(),
        time: expect.anything(),
        requestId: 'test',
        reason: 'invalid_grant',
        kind: 'grant_refused',
        message: 'A connect flow was refused',
      },
    ])
  })

  test('scope_denied if the user leaves mail out', async () => {
    const { token } = await at.world.createLink(NEW)
    const end = await at.world.signIn(token, ADA, { scopes: ['openid', 'email', 'profile', CALENDAR] })
    expect(end).toEqual(failedWith('scope_denied'))
    expect(await at.accounts()).toEqual([])
  })

  test('access_denied if the user refuses', async () => {
    const { token } = await at.world.createLink(NEW)
    expect(await at.world.signIn(token, ADA, { deny: true })).toEqual(failedWith('access_denied'))
  })

  test('account_exists if the mailbox is connected', async () => {
    const first = await at.world.createLink(NEW)
    await at.world.signIn(first.token, ADA)
    const second = await at.world.createLink(NEW)
    expect(await at.world.signIn(second.token, ADA)).toEqual(failedWith('account_exists'))
    expect(await at.accounts()).toHaveLength(1)
  })

  test('plan_limit_accounts, before the browser leaves if that is known, or afterwards', async () => {
    const early = await at.world.createLink(NEW)
    const late = await at.world.createLink(NEW)
    const begun = await at.world.begin(late.token)
    const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, ADA)
    await assignPlan(
      at.app.db,
      at.tenant.tenantId,
      await createPlan(at.app.db, newId(), { ...NO_LIMITS, maxAccounts: 0 }),
    )
    const given = { provider: 'google', nonce: newId(), loginHint: null, caller: CALLER }
    const end = failedWith('plan_limit_accounts')
    expect(await at.world.flows.begin(early.token, given)).toEqual({ outcome: 'ended', end })
    expect(await at.world.comeBack(begun, redirectUrl)).toEqual(end)
  })

  test('cancelled if the user gives up, however often', async () => {
    const { id, token } = await at.world.createLink(NEW)
    for (let count = 0; count < 2; count += 1)
      expect(await at.world.flows.cancel(token, CALLER)).toEqual(failedWith('cancelled'))
    expect(await at.read(id)).toMatchObject({ status: 'failed', error: 'cancelled' })
    expect(await at.endRows()).toHaveLength(1)
  })

  test('session_used if the flow has completed meanwhile', async () => {
    const { id, token } = await at.world.createLink(NEW)
    const begun = await at.world.begin(token)
    const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, ADA)
    // The attempt is on its way to the provider when the session ends otherwise.
    await sql`update connect_session set ended_at = clock_timestamp() where id = ${id}`.execute(at.app.db)
    expect(await at.world.comeBack(begun, redirectUrl)).toEqual(failedWith('session_used'))
    expect(await at.accounts()).toEqual([])
  })
})

async function hanging(host: string): Promise<number> {
  const { items } = await at.sandbox.calls({ host })
  return items.filter(call => call.fault === 'hang').length
}

function answerWith(url: URL, error: string): void {
  url.searchParams.delete('code')
  url.searchParams.set('error', error)
}

describe('a callback changes nothing and calls no provider', () => {
  const tokenCalls = async () => (await at.sandbox.calls({ host: 'oauth2.googleapis.com' })).items.length

  test.each<[string, (url: URL, begun: { cookie: string }) => unknown]>([
    ['without state', url => url.searchParams.delete('state')],
    ['with an empty state', url => url.searchParams.set('state', '')],
    ['with two states', url => url.searchParams.append('state', url.searchParams.get('state') ?? '')],
    ['with two codes', url => url.searchParams.append('code', 'x')],
    ['with an unknown state', url => url.searchParams.set('state', 'A'.repeat(43))],
    ['with the cookie of another browser', (_, begun) => (begun.cookie = otherCookie(begun.cookie))],
    ['without a cookie', (_, begun) => (begun.cookie = '')],
    ['with half a cookie', (_, begun) => (begun.cookie = begun.cookie.split('.')[0] ?? '')],
    ['after 10 minutes', () => at.expire('connect_attempt')],
  ])('%s', async (_, change) => {
    const { token } = await at.world.createLink(NEW)
    const begun = await at.world.begin(token)
    const url = new URL((await at.sandbox.authorize(begun.authorizeUrl, ADA)).redirectUrl)
    await change(url, begun)
    const [before, calls] = [await at.everything(), await tokenCalls()]
    expect(await at.world.comeBack(begun, url.href)).toEqual({ outcome: 'invalid' })
    expect(await at.everything()).toEqual(before)
    expect(await tokenCalls()).toBe(calls)
  })

  test('of another provider', async () => {
    const { token } = await at.world.createLink(NEW)
    const { authorizeUrl, cookie } = await at.world.begin(token)
    const { redirectUrl } = await at.sandbox.authorize(authorizeUrl, ADA)
    const query = new URL(redirectUrl).searchParams
    const [before, calls] = [await at.everything(), await tokenCalls()]
    const given = { provider: 'microsoft', query, cookie, caller: CALLER }
    expect(await at.world.flows.finishCallback(given)).toEqual({ outcome: 'invalid' })
    expect(await at.everything()).toEqual(before)
    expect(await tokenCalls()).toBe(calls)
  })

  test('of an attempt that a later one replaced', async () => {
    const { token } = await at.world.createLink(NEW)
    const first = await at.world.begin(token)
    const { redirectUrl } = await at.sandbox.authorize(first.authorizeUrl, ADA)
    const second = await at.world.begin(token)
    expect(await at.world.comeBack(first, redirectUrl)).toEqual({ outcome: 'invalid' })
    const again = await at.sandbox.authorize(second.authorizeUrl, ADA)
    expect(await at.world.comeBack(second, again.redirectUrl)).toMatchObject({
      url: expect.stringContaining('status=success'),
    })
  })

  test('with the state of another link in the cookie of this one', async () => {
    const [one, other] = [await at.world.createLink(NEW), await at.world.createLink(NEW)]
    const [mine, theirs] = [await at.world.begin(one.token), await at.world.begin(other.token)]
    const { redirectUrl } = await at.sandbox.authorize(theirs.authorizeUrl, BEN)
    const before = await at.everything()
    expect(await at.world.comeBack(mine, redirectUrl)).toEqual({ outcome: 'invalid' })
    const [browser] = theirs.cookie.split('.')
    expect(await at.world.comeBack({ cookie: `${browser}.${one.token}` }, redirectUrl)).toEqual({
      outcome: 'invalid',
    })
    expect(await at.everything()).toEqual(before)
  })
})

function otherCookie(cookie: string): string {
  const [, token] = cookie.split('.')
  return `${'B'.repeat(43)}.${token}`
}

describe('Continue', () => {
  const press = (token: string, nonce: string) =>
    at.world.flows.begin(token, { provider: 'google', nonce, loginHint: null, caller: CALLER })

  test('pressed 20 times at once on one showing begins one attempt', async () => {
    const { token } = await at.world.createLink(NEW)
    const shown = await at.world.flows.showContinue(token, 'google')
    const nonce = shown.outcome === 'shown' ? shown.nonce : ''
    const outcomes = (await Promise.all(Array.from({ length: 20 }, () => press(token, nonce)))).map(
      ({ outcome }) => outcome,
    )
    expect(outcomes.filter(outcome => outcome === 'begun')).toHaveLength(1)
    expect(outcomes.filter(outcome => outcome === 'stale')).toHaveLength(19)
  })

  test('changes nothing when it is shown', async () => {
    const { token } = await at.world.createLink(NEW)
    await at.tenant.delete(`/v1/oauth-apps/${at.googleApp.id}`)
    const before = await at.everything()
    expect(await at.world.flows.find(token)).toMatchObject({ state: 'pending' })
    expect(await at.world.flows.showContinue(token, 'google')).toMatchObject({ outcome: 'shown', scopes: [] })
    expect(await at.everything()).toEqual(before)
  })

  test('begins nothing in a flow that has ended, with an unknown token or a made-up nonce', async () => {
    const ended = await at.world.createLink(NEW)
    await at.world.flows.cancel(ended.token, CALLER)
    const { token } = await at.world.createLink(NEW)
    for (const [link, nonce] of [
      [ended.token, newId()],
      ['A'.repeat(43), newId()],
      [token, 'nonce'],
    ] as const) {
      expect(await press(link, nonce)).toEqual({ outcome: 'stale' })
    }
  })

  test('works 100 times a session', async () => {
    const { token } = await at.world.createLink(NEW)
    for (let count = 0; count < 100; count += 1) expect((await press(token, newId())).outcome).toBe('begun')
    expect(await press(token, newId())).toEqual({ outcome: 'spent' })
  })
})

test('20 callbacks at the same time connect one account, and one of them returns', async () => {
  const { id, token } = await at.world.createLink(NEW)
  const begun = await at.world.begin(token)
  const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, ADA)
  const ends = await Promise.all(Array.from({ length: 20 }, () => at.world.comeBack(begun, redirectUrl)))
  expect(ends.filter(({ outcome }) => outcome === 'returned')).toHaveLength(1)
  expect(await at.read(id)).toMatchObject({ status: 'completed' })
  expect(await at.accounts()).toHaveLength(1)
  expect(await at.endRows()).toHaveLength(1)
})

test('flows of one mailbox that end at the same time connect one account', async () => {
  const links = await Promise.all(Array.from({ length: 10 }, () => at.world.createLink(NEW)))
  const ends = await Promise.all(links.map(({ token }) => at.world.signIn(token, ADA)))
  const urls = ends.map(end => (end.outcome === 'returned' ? end.url : ''))
  expect(urls.filter(url => url.includes('status=success'))).toHaveLength(1)
  expect(urls.filter(url => url.includes('error=account_exists'))).toHaveLength(9)
  expect(await at.accounts()).toHaveLength(1)
})
