import { SignJWT } from 'jose'
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { MAIL, makeCredential, REDIRECT, useMicrosoft } from './use-microsoft.ts'

const used = useMicrosoft()
const EVA = 'eva@office.test'
const SECRET = { client_id: 'sandbox', client_secret: 'sandbox-secret' }
const DAY_SECONDS = 24 * 3600

const refreshTokenOf = async (user = EVA, clientId = 'sandbox'): Promise<string> =>
  (await used.ask('POST', '/grants', { user, clientId, scopes: ['openid', ...MAIL] })).data.refreshToken

const refresh = (token: string, more: object = {}, at: object = {}) =>
  used.token({ grant_type: 'refresh_token', refresh_token: token, ...SECRET, ...more }, at)

async function codeFor(parameters: Record<string, string> = {}): Promise<string> {
  return (await used.signIn(EVA, used.authorizeUrl(parameters))).get('code') ?? ''
}

const redeem = (code: string, more: object = {}, at: object = {}) =>
  used.token({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT, ...SECRET, ...more }, at)

test('an error names its code, its ids and its time', async () => {
  const { status, data } = await refresh('unknown')
  expect(status).toBe(400)
  expect(data).toEqual({
    error: 'invalid_grant',
    error_description: expect.stringMatching(
      /^AADSTS9002313: .* Trace ID: [\da-f-]{36} Correlation ID: [\da-f-]{36} Timestamp: \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/,
    ),
    error_codes: [9_002_313],
    timestamp: expect.any(String),
    trace_id: expect.any(String),
    correlation_id: expect.any(String),
    error_uri: 'https://login.microsoftonline.com/error?code=9002313',
  })
})

describe('the token endpoint refuses', () => {
  test.each([
    ['a request without a type', {}, 900_144, 'invalid_request', 400],
    ['an unknown type', { grant_type: 'password' }, 70_003, 'unsupported_grant_type', 400],
    ['a request without a client', { grant_type: 'refresh_token' }, 900_144, 'invalid_request', 400],
    [
      'an unknown client',
      { grant_type: 'refresh_token', client_id: 'nobody' },
      700_016,
      'unauthorized_client',
      400,
    ],
    [
      'a client without a credential',
      { grant_type: 'refresh_token', client_id: 'sandbox' },
      7_000_218,
      'invalid_client',
      401,
    ],
    [
      'a wrong secret',
      { grant_type: 'refresh_token', client_id: 'sandbox', client_secret: 'wrong' },
      7_000_215,
      'invalid_client',
      401,
    ],
    [
      'a request without a token',
      { grant_type: 'refresh_token', ...SECRET },
      900_144,
      'invalid_request',
      400,
    ],
    [
      'credentials of an app without a tenant',
      { grant_type: 'client_credentials', scope: '.default', ...SECRET },
      50_059,
      'invalid_request',
      400,
    ],
  ])('%s', async (_, form, code, error, status) => {
    const answer = await used.token(form as Record<string, string>)
    expect([answer.status, answer.data.error, answer.data.error_codes]).toEqual([status, error, [code]])
  })

  test('a tenant that does not exist', async () => {
    const { data } = await refresh('any', {}, { tenant: 'nowhere.test' })
    expect([data.error, data.error_codes]).toEqual(['invalid_request', [90_002]])
  })

  test('a secret that has expired', async () => {
    const secretExpiresAt = new Date(Date.now() + DAY_SECONDS * 1000).toISOString()
    await used.ask('POST', '/clients', {
      provider: 'microsoft',
      clientId: 'short',
      clientSecret: 'x',
      secretExpiresAt,
    })
    const token = await refreshTokenOf(EVA, 'short')
    const own = { client_id: 'short', client_secret: 'x' }
    expect((await refresh(token, own)).status).toBe(200)
    await used.ask('POST', '/clock', { advanceSeconds: DAY_SECONDS })
    expect((await refresh(token, own)).data.error_codes).toEqual([7_000_222])
  })

  test('application permissions that are not asked for as `.default`', async () => {
    const form = { grant_type: 'client_credentials', ...SECRET }
    const wrong = await used.token({ ...form, scope: 'Mail.Read' }, { tenant: 'office.test' })
    expect(wrong.data.error_codes).toEqual([1_002_012])
    const unknown = await used.token({ ...form, scope: '.default' }, { tenant: 'office.test' })
    expect(unknown.data.error_codes).toEqual([7_000_229])
  })
})

describe('a code is refused', () => {
  test('the second time, and after ten minutes', async () => {
    const code = await codeFor()
    expect((await redeem(code)).status).toBe(200)
    expect((await redeem(code)).data.error_codes).toEqual([54_005])
    const late = await codeFor()
    await used.ask('POST', '/clock', { advanceSeconds: 600 })
    expect((await redeem(late)).data.error_codes).toEqual([70_008])
    expect((await redeem('1.Aunknown')).data.error_codes).toEqual([9_002_313])
  })

  test('with another redirect URI, another client, or another tenant', async () => {
    const wrong = await redeem(await codeFor(), { redirect_uri: 'http://127.0.0.1:9/other' })
    expect([wrong.status, wrong.data.error_codes]).toEqual([400, [500_112]])
    await used.ask('POST', '/clients', { provider: 'microsoft', clientId: 'other', clientSecret: 'x' })
    const other = await redeem(await codeFor(), { client_id: 'other', client_secret: 'x' })
    expect(other.data.error_codes).toEqual([700_005])
    await used.ask('POST', '/users', { email: 'una@elsewhere.test', provider: 'microsoft' })
    const elsewhere = await redeem(await codeFor(), {}, { tenant: 'elsewhere.test' })
    expect(elsewhere.data.error_codes).toEqual([50_020])
  })

  test('without the verifier of its challenge, and with one that was not asked for', async () => {
    const challenge = createHash('sha256').update('v'.repeat(43)).digest('base64url')
    const given = { code_challenge: challenge, code_challenge_method: 'S256' }
    expect((await redeem(await codeFor(given))).data.error_codes).toEqual([501_481])
    const wrong = await redeem(await codeFor(given), { code_verifier: 'w'.repeat(43) })
    expect(wrong.data.error_codes).toEqual([501_481])
    const unasked = await redeem(await codeFor(), { code_verifier: 'w'.repeat(43) })
    expect(unasked.data.error_codes).toEqual([501_481])
  })
})

describe('a refresh token is refused', () => {
  test('after a new password', async () => {
    const token = await refreshTokenOf()
    await used.ask('PATCH', `/users/${EVA}`, { passwordChanged: true })
    const { data } = await refresh(token)
    expect(data).toMatchObject({ error: 'invalid_grant', error_codes: [50_173], suberror: 'bad_token' })
    await used.ask('POST', '/clock', { advanceSeconds: 1 })
    expect((await refresh(await refreshTokenOf())).status).toBe(200)
  })

  test('when it was not used for 90 days, and not when it was', async () => {
    const token = await refreshTokenOf()
    for (const days of [60, 60]) {
      await used.ask('POST', '/clock', { advanceSeconds: days * DAY_SECONDS })
      expect((await refresh(token)).status).toBe(200)
    }
    await used.ask('POST', '/clock', { advanceSeconds: 90 * DAY_SECONDS })
    expect((await refresh(token)).data.error_codes).toEqual([700_082])
  })

  test('the second time, by a client of single-use tokens', async () => {
    const own = { client_id: 'once', client_secret: 'x' }
    await used.ask('POST', '/clients', {
      provider: 'microsoft',
      clientId: 'once',
      clientSecret: 'x',
      singleUseRefreshTokens: true,
    })
    const token = await refreshTokenOf(EVA, 'once')
    expect((await refresh(token, own)).status).toBe(200)
    expect((await refresh(token, own)).data.error_codes).toEqual([50_173])
  })

  test('of a user who is suspended, or has taken the consent back', async () => {
    const token = await refreshTokenOf()
    await used.ask('PATCH', `/users/${EVA}`, { suspended: true })
    expect((await refresh(token)).data.error_codes).toEqual([50_057])
    await used.ask('PATCH', `/users/${EVA}`, { suspended: false })
    await used.ask('POST', '/consents/withdraw', { user: EVA, clientId: 'sandbox' })
    const { data } = await refresh(token)
    expect(data).toMatchObject({ error_codes: [65_001], suberror: 'consent_required' })
  })

  test('for more than was allowed, or for another cloud', async () => {
    const token = await refreshTokenOf()
    const more = await refresh(token, { scope: 'Mail.Read Mail.ReadWrite.Shared' })
    expect(more.data.error_codes).toEqual([65_001])
    const { data } = await refresh(token, { scope: 'https://graph.microsoft.us/Mail.ReadWrite' })
    expect([data.error, data.error_codes]).toEqual(['invalid_resource', [500_011]])
  })

  test.each([
    [50_076, 'invalid_grant', 400, { suberror: 'basic_action', claims: expect.stringContaining('polids') }],
    [50_079, 'invalid_grant', 400, { suberror: 'basic_action' }],
    [53_003, 'invalid_grant', 400, { suberror: 'message_only' }],
    [90_033, 'temporarily_unavailable', 503, {}],
    [7_000_112, 'unauthorized_client', 400, {}],
    [7_000_215, 'invalid_client', 401, {}],
  ])('with AADSTS%i, as often as it was told to', async (code, error, status, more) => {
    const token = await refreshTokenOf()
    await used.ask('POST', '/token-refusals', { code, user: EVA, count: 2 })
    for (let round = 0; round < 2; round += 1) {
      const answer = await refresh(token)
      expect(answer.status).toBe(status)
      expect(answer.data).toMatchObject({ error, error_codes: [code], ...more })
    }
    expect((await refresh(token)).status).toBe(200)
    expect((await refresh(await refreshTokenOf('finn@office.test'))).status).toBe(200)
  })

  test('no longer, once the refusals that were asked for are taken back', async () => {
    const token = await refreshTokenOf()
    await used.ask('POST', '/token-refusals', { code: 50_076, count: 2 })
    expect((await refresh(token)).data.error_codes).toEqual([50_076])
    expect((await used.ask('DELETE', '/token-refusals')).status).toBe(204)
    expect((await refresh(token)).status).toBe(200)
  })
})

describe('the authorization endpoint', () => {
  const shown = async (parameters: Record<string, string>, at: object = {}) => {
    const { host, pathname, search } = new URL(used.authorizeUrl(parameters, at))
    return used.get(host, `${pathname}${search}`)
  }

  test.each([
    ['an unknown client', { client_id: 'nobody' }, {}, 700_016],
    ['a redirect URI that is not registered', { redirect_uri: 'https://evil.test/' }, {}, 50_011],
    ['a tenant that does not exist', {}, { tenant: 'nowhere.test' }, 90_002],
    ['a person at a tenant', { login_hint: 'greta@outlook.test' }, { tenant: 'organizations' }, 50_020],
    [
      'persons at a cloud without any',
      {},
      { login: 'login.microsoftonline.us', tenant: 'consumers' },
      90_002,
    ],
  ])('shows %s on a page', async (_, parameters, at, code) => {
    const { status, headers, data } = await shown(parameters as Record<string, string>, at)
    expect([status < 500 && status >= 400, headers.get('location')]).toEqual([true, null])
    expect(data).toContain(`AADSTS${code}`)
  })

  test.each([
    ['no scope', { scope: '' }, 900_144, 'invalid_request'],
    ['a permission that does not exist', { scope: 'Mail.Fly' }, 650_053, 'invalid_client'],
    ['another resource', { scope: 'https://other.test/Mail.Read' }, 500_011, 'invalid_resource'],
    [
      'two resources',
      { scope: 'https://graph.microsoft.com/Mail.Read https://graph.microsoft.us/Mail.Read' },
      28_000,
      'invalid_request',
    ],
    ['`.default` with others', { scope: '.default Mail.Read' }, 70_011, 'invalid_scope'],
    ['another response type', { response_type: 'token' }, 700_054, 'unsupported_response_type'],
    ['a short challenge', { code_challenge: 'short' }, 501_491, 'invalid_request'],
    ['an unknown prompt', { prompt: 'sing' }, 90_023, 'invalid_request'],
  ])('sends the browser back for %s', async (_, parameters, code, error) => {
    const { headers } = await shown(parameters as unknown as Record<string, string>)
    const back = new URL(headers.get('location') ?? '').searchParams
    expect([back.get('error'), back.get('state')]).toEqual([error, 'st'])
    expect(back.get('error_description')).toMatch(new RegExp(`^AADSTS${code}: `))
  })

  test('serves each audience of an app at its endpoints only', async () => {
    const add = (clientId: string, more: object) =>
      used.ask('POST', '/clients', { provider: 'microsoft', clientId, clientSecret: 'x', ...more })
    await add('one', { audience: 'AzureADMyOrg', tenant: 'office.test' })
    await add('many', { audience: 'AzureADMultipleOrgs' })
    await add('persons', { audience: 'PersonalMicrosoftAccount' })
    const code = async (client_id: string, tenant: string, user: string | null = null) => {
      const hint: Record<string, string> = user === null ? {} : { login_hint: user }
      const { data } = await shown({ client_id, ...hint }, { tenant })
      return Number(/AADSTS(\d+)/.exec(data)?.[1] ?? 0)
    }
    expect(await code('one', 'common')).toBe(50_194)
    expect(await code('one', 'office.test')).toBe(0)
    await used.ask('POST', '/users', { email: 'una@elsewhere.test', provider: 'microsoft' })
    expect(await code('one', 'elsewhere.test')).toBe(700_016)
    expect(await code('many', 'consumers')).toBe(9_002_346)
    expect(await code('many', 'common', 'greta@outlook.test')).toBe(70_001)
    expect(await code('persons', 'common')).toBe(9_002_331)
    expect(await code('persons', 'consumers')).toBe(0)
  })
})

describe('an assertion', () => {
  const { certificate, privateKey } = makeCredential()
  const stranger = makeCredential()
  const AUDIENCE = 'https://login.microsoftonline.com/common/oauth2/v2.0/token'

  interface Made {
    claims?: Record<string, unknown>
    key?: string
    header?: Record<string, unknown>
    /** Seconds from the sandbox's time. */
    from?: number
    seconds?: number
    alg?: 'PS256' | 'RS256'
  }

  const thumbprint = (algorithm: string, pem: string) =>
    createHash(algorithm).update(new X509Certificate(pem).raw).digest('base64url')

  async function made({
    claims = {},
    key = privateKey,
    header,
    from = 0,
    seconds = 600,
    alg = 'PS256',
  }: Made) {
    const now = Math.floor(used.sandbox.world.clock.now() / 1000) + from
    const payload = {
      iss: 'certified',
      sub: 'certified',
      aud: AUDIENCE,
      jti: crypto.randomUUID(),
      nbf: now,
      exp: now + seconds,
      ...claims,
    }
    return new SignJWT(payload)
      .setProtectedHeader({ alg, ...(header ?? { 'x5t#S256': thumbprint('sha256', certificate) }) })
      .sign(createPrivateKey(key))
  }

  async function asked(assertion: string, more: object = {}) {
    await used.ask('POST', '/clients', {
      provider: 'microsoft',
      clientId: 'certified',
      certificates: [certificate],
      ...more,
    })
    const refresh_token = await refreshTokenOf(EVA, 'certified')
    return used.token({
      grant_type: 'refresh_token',
      refresh_token,
      client_id: 'certified',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    })
  }

  test.each<[string, Made]>([
    ['signed with PS256 and named by `x5t#S256`', {}],
    [
      'signed with RS256 and named by `x5t`',
      { alg: 'RS256', header: { x5t: thumbprint('sha1', certificate) } },
    ],
    ['of a clock that is four minutes ahead', { from: 240 }],
    ['of a clock that is fourteen minutes behind', { from: -840 }],
  ])('%s is taken', async (_, given) => {
    expect((await asked(await made(given))).status).toBe(200)
  })

  test.each<[string, number, Made]>([
    ['of another key', 700_027, { key: stranger.privateKey }],
    [
      'of an unknown certificate',
      700_027,
      { header: { 'x5t#S256': thumbprint('sha256', stranger.certificate) } },
    ],
    ['without a thumbprint', 700_027, { header: {} }],
    ['for another endpoint', 700_023, { claims: { aud: AUDIENCE.replace('.com/', '.us/') } }],
    ['of another app', 700_021, { claims: { iss: 'sandbox' } }],
    ['that begins in six minutes', 700_024, { from: 360 }],
    ['that ended', 700_024, { from: -1000 }],
    ['of eleven minutes', 700_024, { seconds: 660 }],
  ])('%s is refused with AADSTS%i', async (_, code, given) => {
    const { status, data } = await asked(await made(given))
    expect([status, data.error, data.error_codes]).toEqual([401, 'invalid_client', [code]])
  })

  test('that is no JWT is refused', async () => {
    expect((await asked('nonsense')).data.error_codes).toEqual([50_027])
  })

  test('works once, if the app says so', async () => {
    const assertion = await made({})
    const once = { singleUseAssertions: true }
    expect((await asked(assertion, once)).status).toBe(200)
    expect((await asked(assertion, once)).data.error_codes).toEqual([50_013])
    expect((await asked(await made({ claims: { jti: undefined } }), once)).data.error_codes).toEqual([50_013])
  })
})
