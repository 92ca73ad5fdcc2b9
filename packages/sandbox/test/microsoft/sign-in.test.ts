import { createHash } from 'node:crypto'
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { CLOUD_USERS, MAIL, PERSONAL_TENANT, REDIRECT, useMicrosoft } from './use-microsoft.ts'

const used = useMicrosoft()
const LOGIN = 'login.microsoftonline.com'
const GRAPH = 'graph.microsoft.com'
const SECRET = { client_id: 'sandbox', client_secret: 'sandbox-secret' }

/** Redeems the code that a sign-in led to. */
const redeem = (back: URLSearchParams, more: object = {}, at: object = {}) =>
  used.token(
    {
      grant_type: 'authorization_code',
      code: back.get('code') ?? '',
      redirect_uri: REDIRECT,
      ...SECRET,
      ...more,
    },
    at,
  )

/** Opens a page, and posts its form with these fields. */
async function page(url: string) {
  const { host, pathname, search } = new URL(url)
  const { status, headers, data } = await used.get(host, `${pathname}${search}`)
  const [, action = ''] = /<form method="post" action="([^"]*)"/.exec(data) ?? []
  const [, request = ''] = /name="request" value="([^"]*)"/.exec(data) ?? []
  const post = async (fields: Record<string, string>) => {
    const form = { request: request.replaceAll('&amp;', '&'), ...fields }
    const response = await fetch(`${used.origin(host)}${action}`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(form),
    })
    const location = response.headers.get('location')
    return {
      status: response.status,
      text: await response.text(),
      back: location === null ? null : new URL(location).searchParams,
    }
  }
  return { status, headers, text: String(data), post }
}

describe.each(CLOUD_USERS)('the sign-in of $cloud', ({ cloud, login, graph, user }) => {
  test('names itself in discovery documents by tenant, with the real hosts', async () => {
    const domain = user.split('@')[1] ?? ''
    const tenantId = await used.tenantId(domain, cloud)
    for (const [name, issuedFor] of [
      ['organizations', '{tenantid}'],
      [tenantId, tenantId],
      [domain, tenantId],
    ]) {
      const { data } = await used.get(login, `/${name}/v2.0/.well-known/openid-configuration`)
      expect(data).toMatchObject({
        issuer: `https://${login}/${issuedFor}/v2.0`,
        token_endpoint: expect.stringMatching(`^https://${login}/[^/]+/oauth2/v2.0/token$`),
        jwks_uri: expect.stringMatching(`^https://${login}/[^/]+/discovery/v2.0/keys$`),
      })
    }
    const { data } = await used.get(login, `/${tenantId}/v2.0/.well-known/openid-configuration`)
    expect([data.msgraph_host, data.userinfo_endpoint]).toEqual([graph, `https://${graph}/oidc/userinfo`])
  })

  test('signs ID tokens with the published keys, also after they were rotated', async () => {
    const url = used.authorizeUrl({ nonce: 'n-7' }, { login, tenant: 'organizations' })
    for (let round = 0; round < 2; round += 1) {
      const { data } = await redeem(await used.signIn(user, url), {}, { login, tenant: 'organizations' })
      const { data: published } = await used.get(login, '/organizations/discovery/v2.0/keys')
      const tenantId = await used.tenantId(user.split('@')[1] ?? '', cloud)
      const { payload } = await jwtVerify(data.id_token, createLocalJWKSet(published), {
        audience: 'sandbox',
        issuer: `https://${login}/${tenantId}/v2.0`,
      })
      const me = await used.get(graph, '/v1.0/me', data.access_token)
      expect(payload).toMatchObject({
        nonce: 'n-7',
        oid: me.data.id,
        tid: tenantId,
        preferred_username: user,
        email: user,
      })
      expect((await used.ask('POST', '/keys/rotate', { provider: 'microsoft' })).status).toBe(204)
    }
  })

  test('gives tokens for the Graph of this cloud alone', async () => {
    const { data } = await used.ask('POST', '/grants', { user, clientId: 'sandbox', scopes: MAIL })
    for (const other of CLOUD_USERS) {
      const { status } = await used.get(other.graph, '/v1.0/me', data.accessToken)
      expect([other.cloud, status]).toEqual([other.cloud, other.cloud === cloud ? 200 : 401])
    }
  })
})

describe('the pages', () => {
  test('let a person choose a user, and accept', async () => {
    const chooser = await page(used.authorizeUrl())
    expect(chooser.text).toContain('Pick an account')
    expect(chooser.text).toContain('greta@outlook.test')
    expect(chooser.text).not.toContain('jun@shanghai.test')
    const consent = await chooser.post({ user: 'finn@office.test' })
    expect(consent.text).toContain('Read and write access to your mail')
    expect(consent.text).not.toContain('Consent on behalf')
    const { back } = await chooser.post({ user: 'finn@office.test', answer: 'accept' })
    expect(back?.get('state')).toBe('st')
    expect((await redeem(back ?? new URLSearchParams())).status).toBe(200)
    // A permission that was allowed once is not asked for again.
    const again = await chooser.post({ user: 'finn@office.test' })
    expect(again.back?.get('code')).toBeTruthy()
  })

  test('send back a person who cancels', async () => {
    const chooser = await page(used.authorizeUrl({ login_hint: 'finn@office.test' }))
    const { back } = await chooser.post({ user: 'finn@office.test', answer: 'cancel' })
    expect(Object.fromEntries(back ?? [])).toMatchObject({
      error: 'access_denied',
      error_subcode: 'cancel',
      error_description: expect.stringMatching(/^AADSTS65004: /),
      state: 'st',
    })
  })

  test('show only users whom the endpoint takes', async () => {
    const shown = async (tenant: string) => {
      const { text } = await page(used.authorizeUrl({}, { tenant }))
      return [...text.matchAll(/name="user" value="([^"]+)"/g)].map(([, email]) => email)
    }
    expect(await shown('organizations')).toEqual(['eva@office.test', 'finn@office.test', 'desk@office.test'])
    expect(await shown('consumers')).toEqual(['greta@outlook.test'])
    expect(await shown('office.test')).not.toContain('greta@outlook.test')
  })

  test('ask for an administrator where only one may allow the app', async () => {
    const tenant = { domain: 'office.test', approvalRequired: true, administrators: ['finn@office.test'] }
    await used.ask('PATCH', '/tenants', tenant)
    const first = await page(used.authorizeUrl({ login_hint: 'eva@office.test' }))
    expect(first.text).toContain('Need admin approval')
    const accepted = await first.post({ user: 'eva@office.test', answer: 'accept' })
    expect([accepted.back, accepted.text]).toEqual([null, expect.stringContaining('Need admin approval')])
    const { back } = await first.post({ user: 'eva@office.test', answer: 'return' })
    expect(Object.fromEntries(back ?? [])).toMatchObject({
      error: 'access_denied',
      error_description: expect.stringMatching(/^AADSTS90094: /),
    })
    // The administrator allows it for everybody, on the same page.
    const consent = await page(used.authorizeUrl({ login_hint: 'finn@office.test' }))
    expect(consent.text).toContain('Consent on behalf of your')
    await consent.post({ user: 'finn@office.test', answer: 'accept', forAll: '1' })
    expect((await used.signIn('eva@office.test', used.authorizeUrl())).get('code')).toBeTruthy()
  })

  test('let an administrator approve in advance, and nobody else', async () => {
    await used.ask('PATCH', '/tenants', { domain: 'office.test', approvalRequired: true })
    const scope = MAIL.map(name => `https://${GRAPH}/${name}`).join(' ')
    const query = new URLSearchParams({ client_id: 'sandbox', redirect_uri: REDIRECT, scope })
    const chooser = await page(`https://${LOGIN}/organizations/v2.0/adminconsent?${query}`)
    const refused = await chooser.post({ user: 'finn@office.test', answer: 'accept' })
    expect([refused.back, refused.text]).toEqual([null, expect.stringContaining('AADSTS90093')])
    const cancelled = await chooser.post({ user: 'eva@office.test', answer: 'cancel' })
    expect(cancelled.back?.get('error')).toBe('access_denied')
    expect((await chooser.post({ user: 'eva@office.test' })).text).toContain('for your organization')
    const { back } = await chooser.post({ user: 'eva@office.test', answer: 'accept' })
    expect(Object.fromEntries(back ?? [])).toEqual({
      admin_consent: 'True',
      tenant: await used.tenantId('office.test'),
      scope,
    })
    expect((await used.signIn('finn@office.test', used.authorizeUrl())).get('code')).toBeTruthy()
  })

  test('refuse scopes of the Graph of another cloud, once the user is known', async () => {
    const scope = 'openid https://dod-graph.microsoft.us/Mail.ReadWrite'
    const url = used.authorizeUrl({ scope }, { login: 'login.microsoftonline.us', tenant: 'organizations' })
    const chooser = await page(url)
    const answers = [
      (await chooser.post({ user: 'hugo@agency.test' })).back,
      (await chooser.post({ user: 'hugo@agency.test', answer: 'accept' })).back,
      await used.signIn('hugo@agency.test', url),
    ]
    for (const back of answers) {
      expect(back?.get('error')).toBe('invalid_resource')
      expect(back?.get('error_description')).toMatch(/^AADSTS500011: .*dod-graph/)
    }
    expect((await used.signIn('ivy@base.test', url)).get('code')).toBeTruthy()
  })

  test('answer in a fragment or by a form, if asked to', async () => {
    const url = used.authorizeUrl({ response_mode: 'fragment' })
    const { data } = await used.ask('POST', '/authorizations', { url, user: 'eva@office.test' })
    expect(new URL(data.redirectUrl).hash).toContain('code=')
    const posted = await page(
      used.authorizeUrl({ response_mode: 'form_post', login_hint: 'eva@office.test' }),
    )
    expect(posted.text).toContain(`action="${REDIRECT}"`)
    expect(posted.text).toMatch(/name="code" value="[^"]+"/)
  })

  test('answer without a page, if asked to', async () => {
    const silent = async (parameters: Record<string, string>) => {
      const { host, pathname, search } = new URL(used.authorizeUrl({ prompt: 'none', ...parameters }))
      const { headers } = await used.get(host, `${pathname}${search}`)
      return new URL(headers.get('location') ?? '').searchParams
    }
    expect((await silent({})).get('error')).toBe('login_required')
    expect((await silent({ login_hint: 'eva@office.test' })).get('error')).toBe('consent_required')
    await used.signIn('eva@office.test', used.authorizeUrl())
    expect((await silent({ login_hint: 'eva@office.test' })).get('code')).toBeTruthy()
  })
})

describe('tokens', () => {
  test('name the permissions as they were asked for, and all that the user ever allowed', async () => {
    await used.signIn('eva@office.test', used.authorizeUrl())
    const scope = `openid https://${GRAPH}/User.Read`
    const { data } = await redeem(await used.signIn('eva@office.test', used.authorizeUrl({ scope })))
    const all = MAIL.map(name => `https://${GRAPH}/${name}`)
    expect(data.scope).toBe([...all, 'openid'].join(' '))
    expect(decodeJwt(data.access_token)['scp']).toBe(MAIL.join(' '))
    expect(data).not.toHaveProperty('refresh_token')
  })

  test('have the registered permissions of an app that asks for `.default`', async () => {
    await used.ask('POST', '/clients', {
      provider: 'microsoft',
      clientId: 'sandbox',
      clientSecret: 'sandbox-secret',
      delegatedPermissions: ['User.Read', 'Mail.Read'],
    })
    const url = used.authorizeUrl({ scope: `https://${GRAPH}/.default` })
    const { data } = await redeem(await used.signIn('eva@office.test', url))
    expect(decodeJwt(data.access_token)['scp']).toBe('User.Read Mail.Read')
  })

  test('of a person name what was asked for, and nothing that persons do not have', async () => {
    const scope = 'openid offline_access User.Read Mail.Read Mail.Read.Shared'
    const { data } = await redeem(await used.signIn('greta@outlook.test', used.authorizeUrl({ scope })))
    expect(data.scope).toBe('User.Read Mail.Read openid')
    expect(data.access_token).not.toContain('.')
    expect(decodeJwt(data.id_token)['tid']).toBe(PERSONAL_TENANT)
  })

  test('rotate at a refresh, and the older one lives on', async () => {
    const { data } = await redeem(await used.signIn('eva@office.test', used.authorizeUrl()))
    const refresh = (token: string) =>
      used.token({ grant_type: 'refresh_token', refresh_token: token, ...SECRET })
    const next = await refresh(data.refresh_token)
    expect(next.data.refresh_token).not.toBe(data.refresh_token)
    expect((await refresh(data.refresh_token)).status).toBe(200)
    expect((await refresh(next.data.refresh_token)).status).toBe(200)
  })

  test('need the verifier of their challenge', async () => {
    const verifier = 'v'.repeat(43)
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const url = used.authorizeUrl({ code_challenge: challenge, code_challenge_method: 'S256' })
    const good = await redeem(await used.signIn('eva@office.test', url), { code_verifier: verifier })
    expect(good.status).toBe(200)
  })

  test('end when a user is suspended, and work again afterwards', async () => {
    const user = 'eva@office.test'
    const { data } = await used.ask('POST', '/grants', { user, clientId: 'sandbox', scopes: MAIL })
    const me = async () => (await used.get(GRAPH, '/v1.0/me', data.accessToken)).status
    await used.ask('PATCH', `/users/${user}`, { suspended: true })
    expect(await me()).toBe(401)
    await used.ask('PATCH', `/users/${user}`, { suspended: false })
    expect(await me()).toBe(200)
    await used.ask('POST', '/clock', { advanceSeconds: 3600 })
    expect(await me()).toBe(401)
  })

  test('open the profile of the user, with the scopes for it', async () => {
    const scopes = ['openid', 'Mail.Read']
    const user = 'finn@office.test'
    const { data } = await used.ask('POST', '/grants', { user, clientId: 'sandbox', scopes })
    const refused = await used.get(GRAPH, '/v1.0/me', data.accessToken)
    expect([refused.status, refused.data.error.code]).toEqual([403, 'Authorization_RequestDenied'])
    const { data: claims } = await used.get(GRAPH, '/oidc/userinfo', data.accessToken)
    expect(claims).toMatchObject({ email: user, name: 'Finn Okoye' })
    expect((await used.get(GRAPH, '/v1.0/me')).headers.get('www-authenticate')).toContain(
      `authorization_uri="https://${LOGIN}/common/oauth2/authorize"`,
    )
  })
})
