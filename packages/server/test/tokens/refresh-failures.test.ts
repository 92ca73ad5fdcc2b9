import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { SignIn } from '../../src/providers/sign-in.ts'
import { waitUntil } from '../wait-until.ts'
import { CLIENT, grantOf } from './granted-account.ts'
import { CONNECTED, failureOf, useTokenWorlds } from './open-token-world.ts'
import { type Answer, REFUSED } from './token-endpoint.ts'

const HOUR_MS = 3_600_000

const { openWorld } = useTokenWorlds()

const TROUBLES: ReadonlyArray<[string, Answer, kind: string]> = [
  ['429', { status: 429, headers: { 'retry-after': '30' }, body: {} }, 'throttled'],
  ['429 that blames the grant', { status: 429, body: { error: 'invalid_grant' } }, 'throttled'],
  ['503', { status: 503, body: 'busy' }, 'unavailable'],
  ['500 that blames the grant', { status: 500, body: { error: 'invalid_grant' } }, 'unavailable'],
  ['a page of a proxy', { status: 200, body: '<html>Sign in to the WLAN</html>' }, 'unavailable'],
  ['a redirect', { status: 302, headers: { location: 'https://elsewhere.test/' }, body: '' }, 'unavailable'],
  ['400 without a known word', { status: 400, body: { error: 'invalid_request' } }, 'rejected'],
  ['401 of a refused client', { status: 401, body: { error: 'invalid_client' } }, 'misconfigured'],
]

test.each(TROUBLES)(
  'leaves the status alone through an hour of %s',
  { tags: ['postgres-16'] },
  async (_, answer, kind) => {
    await using world = await openWorld()
    const { database, endpoint, account, tokensOf } = world
    const prolongPause = async (hours: number) => {
      const { rows } = await sql<{ end: Date }>`update oauth_grant
      set retry_at = retry_at + make_interval(hours => ${hours})
      where account_id = ${account.id} returning retry_at as end`.execute(database.db)
      return rows[0]!.end.getTime()
    }
    await world.turn(61)
    endpoint.answer = () => answer
    const times = 15
    for (let time = 0; time < times; time++) {
      const before = Date.now()
      const failure = await failureOf(tokensOf(account).get())
      expect(failure).toMatchObject({ kind, isBeforeAcceptance: true })
      // Until the pause is over, nobody asks again, whichever process it is.
      expect((await prolongPause(1)) - before).toBeGreaterThanOrEqual(HOUR_MS + 1_000)
      expect(await failureOf(tokensOf(account).get())).toMatchObject({ kind, reason: failure.reason })
      await prolongPause(-1)
      await world.turn(60 / times)
    }
    expect(endpoint.calls).toBe(times)
    expect(await world.status()).toEqual({ status: 'active', status_reason: null })
    endpoint.answer = null
    await tokensOf(account).get()
    expect(await world.events()).toEqual(CONNECTED)
  },
)

test('names the time that the provider asks for', async () => {
  await using world = await openWorld()
  await world.turn(61)
  world.endpoint.answer = () => ({ status: 429, headers: { 'retry-after': '90' }, body: {} })
  const [first, again] = [
    await failureOf(world.tokensOf(world.account).get()),
    await failureOf(world.tokensOf(world.account).get()),
  ]
  expect(first.retryAfterSeconds).toBe(90)
  expect(again.retryAfterSeconds).toBeGreaterThan(60)
})

test('leaves the status alone while the endpoint takes calls and never answers, which costs their bound', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  await world.turn(61)
  const never = Promise.withResolvers<null>()
  endpoint.answer = () => never.promise
  for (let time = 0; time < 3; time++) {
    const failure = await failureOf(tokensOf(account, { callSeconds: 0.2 }).get())
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    await world.turn(20)
  }
  expect(await world.status()).toEqual({ status: 'active', status_reason: null })
  endpoint.answer = null
  await tokensOf(account).get()
  expect(await world.events()).toEqual(CONNECTED)
  never.resolve(null)
})

test(
  'asks twice before it believes that the grant has ended, and announces that once',
  { tags: ['postgres-16'] },
  async () => {
    await using world = await openWorld()
    const { endpoint, account, tokensOf } = world
    await world.turn(61)
    endpoint.answer = call => (call === 1 ? REFUSED : null)
    await tokensOf(account).get()
    expect(await world.events()).toEqual(CONNECTED)

    await world.turn(61)
    endpoint.answer = () => REFUSED
    const callers = Array.from({ length: 10 }, () => tokensOf(account))
    const failures = await Promise.all(callers.map(tokens => failureOf(tokens.get())))
    expect(new Set(failures.map(({ kind }) => kind))).toEqual(new Set(['grant_refused']))
    expect(await world.status()).toEqual({ status: 'reauth_required', status_reason: 'invalid_grant' })
    expect(await world.events()).toEqual([...CONNECTED, 'account.reauth_required'])
    const { calls } = endpoint
    await failureOf(tokensOf(account).get())
    expect(endpoint.calls).toBe(calls)
  },
)

test('ends the grant that was refused and no other', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  const identity = { subject: 'google:2', email: 'grace@gmail.test', displayName: null }
  const other = await world.connect(grantOf(endpoint.grant(), { identity }))
  await world.turn(61)
  endpoint.answer = () => REFUSED
  expect((await failureOf(tokensOf(account).get())).kind).toBe('grant_refused')
  endpoint.answer = null
  await tokensOf({ id: other.id, tenantId: account.tenantId }).get()
})

test(
  'keeps what a refresh brings after its lease, since only that may be good',
  { tags: ['postgres-16'] },
  async () => {
    await using world = await openWorld()
    const { endpoint, account, tokensOf } = world
    await world.turn(61)
    const held = Promise.withResolvers<Answer>()
    endpoint.answer = call => (call === 1 ? held.promise : null)
    const late = tokensOf(account, { waitSeconds: 0 }).get()
    await waitUntil('the refresh', async () => endpoint.calls === 1)
    await world.turn(1)
    const taken = await tokensOf(account).get()
    held.resolve({
      status: 200,
      body: { access_token: 'ya29.late', expires_in: 3600, refresh_token: '1//late' },
    })
    expect((await late).reveal()).toBe(taken.reveal())

    const kept = { status: 200, body: { access_token: 'ya29.kept', expires_in: 3600 } }
    endpoint.answer = (_, refreshToken) => (refreshToken === '1//late' ? kept : REFUSED)
    await world.turn(61)
    expect((await tokensOf(account).get()).reveal()).toBe('ya29.kept')
    const { calls } = endpoint
    await world.turn(61)
    await tokensOf(account).get()
    expect(endpoint.calls).toBe(calls + 1)
    expect(await world.events()).toEqual(CONNECTED)
  },
)

test('does not blame a grant that another process has renewed meanwhile', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  await world.turn(61)
  const held = Promise.withResolvers<Answer>()
  endpoint.answer = call => (call === 1 ? REFUSED : call === 2 ? held.promise : null)
  const late = tokensOf(account).get()
  await waitUntil('the second refusal', async () => endpoint.calls === 2)
  await world.turn(1)
  const renewed = await tokensOf(account).get()
  held.resolve(REFUSED)
  expect((await late).reveal()).toBe(renewed.reveal())
  expect(await world.status()).toEqual({ status: 'active', status_reason: null })
  expect(await world.events()).toEqual(CONNECTED)
})

test('forgets the refresh token before the last one after a day', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  await world.turn(61)
  endpoint.answer = () => ({
    status: 200,
    body: { access_token: 'ya29.x', expires_in: 3600, refresh_token: '1//second' },
  })
  await tokensOf(account).get()
  await world.turn(24 * 60 + 1)
  const asked: string[] = []
  endpoint.answer = (_, refreshToken) => {
    asked.push(refreshToken)
    return REFUSED
  }
  expect((await failureOf(tokensOf(account).get())).kind).toBe('grant_refused')
  expect(asked).toEqual(['1//second', '1//second'])
})

test('uses the refresh token before the last one if the last one was lost at the provider', async () => {
  await using world = await openWorld({ hasGrace: true })
  const { endpoint, account, tokensOf } = world
  await world.turn(61)
  endpoint.answer = () => ({
    status: 200,
    body: { access_token: 'ya29.x', expires_in: 3600, refresh_token: '1//never-kept-there' },
  })
  await tokensOf(account).get()
  endpoint.answer = null
  await world.turn(61)
  await tokensOf(account).get()
  expect(await world.events()).toEqual(CONNECTED)

  await world.turn(61)
  await tokensOf(account).get()
  expect(await world.status()).toMatchObject({ status: 'active' })
})

test('does not blame a new grant for the late failure of the old one', async () => {
  await using world = await openWorld()
  const { endpoint, account, tokensOf } = world
  await world.turn(61)
  const held = Promise.withResolvers<void>()
  endpoint.answer = async () => {
    await held.promise
    return REFUSED
  }
  const late = tokensOf(account).get()
  await waitUntil('the refresh', async () => endpoint.calls === 1)
  const renewed = grantOf(endpoint.grant())
  await world.reconnect(account.id, renewed)
  held.resolve()
  expect((await late).reveal()).toBe(renewed.accessToken.reveal())
  expect(endpoint.calls).toBe(1)
  expect(await world.status()).toEqual({ status: 'active', status_reason: null })
  expect(await world.events()).not.toContain('account.reauth_required')
})

test('keeps an answer that comes after its lease, though another process was refused meanwhile', async () => {
  await using world = await openWorld()
  const { endpoint, account, signIn, tokensOf } = world
  await world.turn(61)
  const isHeld = Promise.withResolvers<void>()
  const slow: SignIn = {
    ...signIn,
    async refresh(...given) {
      const tokens = await signIn.refresh(...given)
      await isHeld.promise
      return tokens
    },
  }
  const late = tokensOf(account, { signIn: slow }).get()
  await waitUntil('the refresh', async () => endpoint.calls === 1)
  await world.turn(1)

  let asked = 0
  const second: SignIn = {
    ...signIn,
    async refresh(...given) {
      asked += 1
      if (asked === 2) {
        isHeld.resolve()
        await Promise.allSettled([late])
      }
      return signIn.refresh(...given)
    },
  }
  const other = await tokensOf(account, { signIn: second }).get()
  expect(asked).toBe(2)
  expect(other.reveal()).toBe((await late).reveal())
  expect(await world.status()).toEqual({ status: 'active', status_reason: null })
  expect(await world.events()).toEqual(CONNECTED)
  await world.turn(61)
  await tokensOf(account).get()
})

test.each([
  ['its secret cannot be read', 'oauth_app_secret_unreadable' as const, 'oauth_app_secret_unreadable'],
  ['it is another one', { ...CLIENT, clientId: 'another' }, 'provider_not_configured'],
])('blames the setup if the OAuth app is not usable: %s', async (_, client, reason) => {
  await using world = await openWorld()
  await world.turn(61)
  const failure = await failureOf(world.tokensOf(world.account, { client }).get())
  expect(failure).toMatchObject({ kind: 'misconfigured', reason })
  expect(world.endpoint.calls).toBe(0)
  expect(await world.status()).toMatchObject({ status: 'active' })
})

test.each([
  [
    'another user under the same address',
    { subject: 'google:2', email: 'ada@gmail.test', displayName: null },
  ],
  [
    'another address, of a user who is not named',
    { subject: null, email: 'eve@gmail.test', displayName: null },
  ],
])('refuses a reconnect by %s, and keeps the grant that it has', async (_, identity) => {
  await using world = await openWorld()
  const { database, account, endpoint, tokensOf } = world
  const grants = database.db.selectFrom('oauth_grant').where('account_id', '=', account.id)
  const stored = () => grants.selectAll().execute()
  const before = await stored()
  await expect(world.reconnect(account.id, grantOf(endpoint.grant(), { identity }))).rejects.toMatchObject({
    reason: 'account_mismatch',
  })
  expect(await stored()).toEqual(before)
  await world.turn(61)
  await tokensOf(account).get()
  expect(await world.events()).toEqual(CONNECTED)
})
