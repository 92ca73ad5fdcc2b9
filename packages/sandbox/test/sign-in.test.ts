import { createHash, X509Certificate } from 'node:crypto'
import { CodeChallengeMethod, JWT, OAuth2Client } from 'google-auth-library'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { type Answer, readAnswer } from './read-answer.ts'
import { useSandbox } from './use-sandbox.ts'

const used = useSandbox()
const { ask, origin } = used

const REDIRECT = 'http://127.0.0.1:9999/callback'
const MODIFY = 'https://www.googleapis.com/auth/gmail.modify'
const SETTINGS = 'https://www.googleapis.com/auth/gmail.settings.basic'
const VERIFIER = 'v'.repeat(43)

/** Google's own library, at the sandbox's addresses. */
function openClient(id = 'sandbox', secret = 'sandbox-secret') {
  return new OAuth2Client({
    clientId: id,
    clientSecret: secret,
    redirectUri: REDIRECT,
    endpoints: {
      oauth2AuthBaseUrl: `${origin('accounts.google.com')}/o/oauth2/v2/auth`,
      oauth2TokenUrl: `${origin('oauth2.googleapis.com')}/token`,
      oauth2RevokeUrl: `${origin('oauth2.googleapis.com')}/revoke`,
      tokenInfoUrl: `${origin('oauth2.googleapis.com')}/tokeninfo`,
      oauth2FederatedSignonPemCertsUrl: `${origin('www.googleapis.com')}/oauth2/v1/certs`,
      oauth2FederatedSignonJwkCertsUrl: `${origin('www.googleapis.com')}/oauth2/v3/certs`,
    },
  })
}

interface Wishes {
  scope?: string[]
  prompt?: string
  nonce?: string
  state?: string
  include_granted_scopes?: boolean
}

function authorizeUrl(client: OAuth2Client, wishes: Wishes = {}) {
  return client.generateAuthUrl({
    access_type: 'offline',
    prompt: 'consent',
    scope: ['openid', 'email', 'profile', MODIFY, SETTINGS],
    code_challenge_method: CodeChallengeMethod.S256,
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    ...wishes,
  })
}

async function authorize(url: string, options: object = {}): Promise<URLSearchParams> {
  const { status, data } = await ask('POST', '/authorizations', { url, user: 'ada@gmail.test', ...options })
  expect(status, JSON.stringify(data)).toBe(201)
  return new URL(data.redirectUrl).searchParams
}

async function signIn(client = openClient(), wishes: Wishes = {}) {
  const answer = await authorize(authorizeUrl(client, wishes))
  const { tokens } = await client.getToken({ code: answer.get('code') ?? '', codeVerifier: VERIFIER })
  client.setCredentials(tokens)
  return tokens
}

async function askToken(form: Record<string, string>): Promise<Answer> {
  return readAnswer(
    await fetch(`${origin('oauth2.googleapis.com')}/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'sandbox', client_secret: 'sandbox-secret', ...form }),
    }),
  )
}

const refresh = (token: string | null | undefined, client: object = {}) =>
  askToken({ grant_type: 'refresh_token', refresh_token: token ?? '', ...client })

describe("Google's own library", () => {
  test('signs in, verifies the ID token by certificate, and refreshes', async () => {
    const client = openClient()
    const tokens = await signIn(client, { nonce: 'n-1' })
    expect(tokens.access_token).toMatch(/^ya29\./)
    expect(tokens.refresh_token).toMatch(/^1\/\//)
    const ticket = await client.verifyIdToken({ idToken: tokens.id_token ?? '', audience: 'sandbox' })
    expect(ticket.getPayload()).toMatchObject({
      iss: 'https://accounts.google.com',
      email: 'ada@gmail.test',
      email_verified: true,
      name: 'Ada Lovelace',
      given_name: 'Ada',
      nonce: 'n-1',
    })
    const { credentials } = await client.refreshAccessToken()
    expect(credentials.access_token).not.toBe(tokens.access_token)
    expect(credentials.refresh_token).toBe(tokens.refresh_token)
    const info = await client.getTokenInfo(credentials.access_token ?? '')
    expect(info).toMatchObject({ aud: 'sandbox', email: 'ada@gmail.test' })
    expect(info.scopes).toContain(MODIFY)
  })

  test('verifies by the key set, also after the keys were rotated', async () => {
    const { id_token: idToken } = await signIn()
    await ask('POST', '/keys/rotate')
    const keySet = createRemoteJWKSet(new URL(`${origin('www.googleapis.com')}/oauth2/v3/certs`), {
      timeoutDuration: 120_000,
    })
    const { payload } = await jwtVerify(idToken ?? '', keySet, { audience: 'sandbox' })
    const accounts = await fetch(`${origin('openidconnect.googleapis.com')}/v1/userinfo`, {
      headers: { authorization: `Bearer ${(await signIn()).access_token}` },
    })
    expect(await accounts.json()).toMatchObject({ sub: payload.sub, email: 'ada@gmail.test' })
  })

  test('finds certificates that are what they say', async () => {
    await ask('POST', '/keys/rotate')
    const response = await fetch(`${origin('www.googleapis.com')}/oauth2/v1/certs`)
    const certificates = Object.values((await response.json()) as Record<string, string>)
    expect(certificates).toHaveLength(2)
    for (const pem of certificates) {
      const certificate = new X509Certificate(pem)
      expect(certificate.verify(certificate.publicKey)).toBe(true)
      expect(certificate.subject).toBe('CN=accounts.sandbox.test')
    }
  })

  test('revokes the whole grant of a user and client', async () => {
    const [first, second] = [openClient(), openClient()]
    const sibling = await signIn(first)
    await signIn(second)
    await second.revokeCredentials()
    expect(await refresh(sibling.refresh_token)).toMatchObject({
      status: 400,
      data: { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
    })
    await expect(first.getTokenInfo(sibling.access_token ?? '')).rejects.toThrow('invalid_token')
  })

  test('acts for a user with the key of a service account', async () => {
    const [account] = (await ask('GET', '/service-accounts')).data.items
    const openJwt = (subject: string, scopes: string[]) => {
      const jwt = new JWT({
        email: account.client_email,
        key: account.private_key,
        subject,
        scopes,
      })
      jwt.transporter.interceptors.request.add({
        resolved: async config => ({
          ...config,
          url: new URL(new URL(config.url).pathname, origin('oauth2.googleapis.com')),
        }),
      })
      return jwt
    }
    const { access_token: token } = await openJwt('cleo@corp.test', [MODIFY]).authorize()
    expect((await openClient().getTokenInfo(token ?? '')).scopes).toEqual([MODIFY])
    await expect(openJwt('nobody@corp.test', [MODIFY]).authorize()).rejects.toThrow('invalid_grant')
    await expect(openJwt('ada@gmail.test', [MODIFY]).authorize()).rejects.toThrow('unauthorized_client')
    await expect(openJwt('cleo@corp.test', [SETTINGS]).authorize()).rejects.toThrow('unauthorized_client')
  })
})

describe('authorization', () => {
  test('returns the scopes whose boxes stayed ticked', async () => {
    const client = openClient()
    const answer = await authorize(authorizeUrl(client, { state: 's 1' }), { scopes: [MODIFY] })
    expect(answer.get('state')).toBe('s 1')
    expect(answer.get('scope')?.split(' ')).toEqual(expect.arrayContaining(['email', 'openid', MODIFY]))
    expect(answer.get('scope')).not.toContain(SETTINGS)
  })

  test('returns access_denied', async () => {
    const answer = await authorize(authorizeUrl(openClient(), { state: 's' }), { deny: true })
    expect(Object.fromEntries(answer)).toEqual({ error: 'access_denied', state: 's' })
  })

  test('gives a refresh token again only if the user is asked again', async () => {
    expect((await signIn(openClient(), { prompt: '' })).refresh_token).toBeDefined()
    expect((await signIn(openClient(), { prompt: '' })).refresh_token).toBeUndefined()
    expect((await signIn(openClient(), { prompt: 'consent' })).refresh_token).toBeDefined()
  })

  test('adds scopes granted before only if asked to', async () => {
    await signIn(openClient(), { scope: ['openid', MODIFY] })
    const alone = await signIn(openClient(), { scope: [SETTINGS] })
    expect(alone.scope).toBe(SETTINGS)
    const joined = await signIn(openClient(), { scope: [SETTINGS], include_granted_scopes: true })
    expect(joined.scope?.split(' ').toSorted()).toEqual([MODIFY, SETTINGS, 'openid'].toSorted())
  })

  test.each([
    [{ redirect_uri: 'https://evil.test/callback' }, 400, 'redirect_uri_mismatch'],
    [{ client_id: 'nobody' }, 401, 'invalid_client'],
    [{ response_type: '' }, 400, 'invalid_request'],
    [{ response_type: 'token' }, 400, 'unsupported_response_type'],
    [{ scope: 'https://www.googleapis.com/auth/nonsense' }, 400, 'invalid_scope'],
    [{ code_challenge_method: 'S512' }, 400, 'invalid_request'],
  ])('shows a page and sends nobody back for %j', async (changes, status, error) => {
    const url = new URL(authorizeUrl(openClient()))
    for (const [name, value] of Object.entries(changes)) url.searchParams.set(name, value)
    const response = await fetch(url, { redirect: 'manual' })
    expect(response.status).toBe(status)
    expect(await response.text()).toContain(error)
  })

  test('shows the choice of a user and what to allow, and redirects', async () => {
    const post = (path: string, fields: Array<[string, string]>) =>
      fetch(`${origin('accounts.google.com')}${path}`, {
        method: 'POST',
        body: new URLSearchParams(fields),
        redirect: 'manual',
      })
    const url = authorizeUrl(openClient(), { state: '"><script>' })
    const chooser = await (await fetch(url)).text()
    expect(chooser).toContain('ada@gmail.test')
    expect(chooser).not.toContain('"><script>')
    const request = new URL(url).search.slice(1)
    const consent = await post('/signin/oauth/account', [
      ['request', request],
      ['user', 'ada@gmail.test'],
    ])
    expect(await consent.text()).toContain(MODIFY)
    const done = await post('/signin/oauth/consent', [
      ['request', request],
      ['user', 'ada@gmail.test'],
      ['scope', MODIFY],
      ['answer', 'allow'],
    ])
    expect(done.status).toBe(302)
    expect(done.headers.get('location')).toMatch(
      /^http:\/\/127\.0\.0\.1:9999\/callback\?state=.*&code=4%2F0A/,
    )
  })
})

describe('codes', () => {
  async function redeem(changes: Record<string, string> = {}, code?: string) {
    const redeemed = code ?? (await authorize(authorizeUrl(openClient()))).get('code') ?? ''
    return askToken({
      grant_type: 'authorization_code',
      code: redeemed,
      redirect_uri: REDIRECT,
      code_verifier: VERIFIER,
      ...changes,
    })
  }

  test('work once, and for ten minutes', async () => {
    const code = (await authorize(authorizeUrl(openClient()))).get('code') ?? ''
    expect((await redeem({}, code)).status).toBe(200)
    expect((await redeem({}, code)).data.error).toBe('invalid_grant')
    const late = (await authorize(authorizeUrl(openClient()))).get('code') ?? ''
    await ask('POST', '/clock', { advanceSeconds: 601 })
    expect((await redeem({}, late)).data.error).toBe('invalid_grant')
  })

  test.each([
    [{ redirect_uri: 'http://127.0.0.1:9999/other' }, 400, 'redirect_uri_mismatch'],
    [{ code_verifier: 'w'.repeat(43) }, 400, 'invalid_grant'],
    [{ code_verifier: '' }, 400, 'invalid_grant'],
    [{ code: 'nonsense' }, 400, 'invalid_grant'],
    [{ code: '' }, 400, 'invalid_request'],
    [{ client_secret: 'wrong' }, 401, 'invalid_client'],
    [{ client_id: 'nobody' }, 401, 'invalid_client'],
    [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
  ])('are refused with %j', async (changes: Record<string, string>, status, error) => {
    expect(await redeem(changes)).toMatchObject({ status, data: { error } })
  })
})

describe('refresh tokens', () => {
  test('are at most 100 of a user and client; the oldest dies', async () => {
    const grants: string[] = []
    for (let count = 0; count < 101; count++) {
      const { data } = await ask('POST', '/grants', {
        user: 'ada@gmail.test',
        clientId: 'sandbox',
        scopes: [MODIFY],
      })
      grants.push(data.refreshToken)
    }
    expect((await refresh(grants[0])).data.error).toBe('invalid_grant')
    expect((await refresh(grants[1])).status).toBe(200)
  })

  test('of an app in Testing die after 7 days', async () => {
    await ask('POST', '/clients', { clientId: 'trial', clientSecret: 'x', publishing: 'testing' })
    const trial = { client_id: 'trial', client_secret: 'x' }
    const { refresh_token: token } = await signIn(openClient('trial', 'x'))
    await ask('POST', '/clock', { advanceSeconds: 7 * 24 * 3600 - 60 })
    expect((await refresh(token, trial)).status).toBe(200)
    await ask('POST', '/clock', { advanceSeconds: 120 })
    expect((await refresh(token, trial)).data).toEqual({
      error: 'invalid_grant',
      error_description: 'Token has been expired or revoked.',
    })
  })

  test('with mail die at a new password, others live', async () => {
    await ask('POST', '/clients', { clientId: 'contacts', clientSecret: 'x' })
    const mail = await signIn()
    const contacts = await signIn(openClient('contacts', 'x'), {
      scope: ['https://www.googleapis.com/auth/contacts'],
    })
    await ask('PATCH', '/users/ada@gmail.test', { passwordChanged: true })
    expect((await refresh(mail.refresh_token)).data.error).toBe('invalid_grant')
    const other = { client_id: 'contacts', client_secret: 'x' }
    expect((await refresh(contacts.refresh_token, other)).status).toBe(200)
  })

  test('of a suspended user are refused until the user is back', async () => {
    const { refresh_token: token } = await signIn()
    await ask('PATCH', '/users/ada@gmail.test', { suspended: true })
    expect((await refresh(token)).data.error).toBe('invalid_grant')
    await ask('PATCH', '/users/ada@gmail.test', { suspended: false })
    expect((await refresh(token)).status).toBe(200)
  })

  test('work once, if the client is so set', async () => {
    await ask('POST', '/clients', { clientId: 'once', clientSecret: 'x', singleUseRefreshTokens: true })
    const once = { client_id: 'once', client_secret: 'x' }
    const { refresh_token: token } = await signIn(openClient('once', 'x'))
    const next = await refresh(token, once)
    expect(next.data.refresh_token).toMatch(/^1\/\//)
    expect((await refresh(token, once)).data.error).toBe('invalid_grant')
    expect((await refresh(next.data.refresh_token, once)).status).toBe(200)
  })

  test('of another client are refused', async () => {
    await ask('POST', '/clients', { clientId: 'other', clientSecret: 'x' })
    const { refresh_token: token } = await signIn()
    expect((await refresh(token, { client_id: 'other', client_secret: 'x' })).status).toBe(401)
  })
})
