import { ConfidentialClientApplication, CryptoProvider, type INetworkModule } from '@azure/msal-node'
import { describe, expect, test } from 'vitest'
import { CLOUD_USERS, MAIL, makeCredential, REDIRECT, useMicrosoft } from './use-microsoft.ts'

const used = useMicrosoft()
const credential = makeCredential()

/** Sends what Microsoft's library asks of a real host to the host that plays it. */
const network: INetworkModule = {
  sendGetRequestAsync: (url, options) => send('GET', url, options),
  sendPostRequestAsync: (url, options) => send('POST', url, options),
}

async function send<T>(
  method: string,
  url: string,
  options: { headers?: Record<string, string>; body?: string } = {},
) {
  const { host, pathname, search } = new URL(url)
  const response = await fetch(`${used.origin(host)}${pathname}${search}`, {
    method,
    ...(options.headers && { headers: options.headers }),
    ...(options.body !== undefined && { body: options.body }),
  })
  const body = (await response.json()) as T
  return { headers: Object.fromEntries(response.headers), body, status: response.status }
}

type Proof = 'secret' | 'certificate'

function openClient(login: string, tenant: string, proof: Proof) {
  return new ConfidentialClientApplication({
    auth: {
      clientId: 'judged',
      authority: `https://${login}/${tenant}`,
      knownAuthorities: [login],
      ...(proof === 'secret'
        ? { clientSecret: 'judged-secret' }
        : {
            clientCertificate: {
              thumbprintSha256: credential.thumbprint,
              privateKey: credential.privateKey,
            },
          }),
    },
    system: { networkClient: network },
  })
}

async function addClient(cloud: string, proof: Proof, more: object = {}) {
  const { status } = await used.ask('POST', '/clients', {
    provider: 'microsoft',
    cloud,
    clientId: 'judged',
    ...(proof === 'secret' ? { clientSecret: 'judged-secret' } : { certificates: [credential.certificate] }),
    ...more,
  })
  expect(status).toBe(201)
}

describe.each(CLOUD_USERS)("Microsoft's own library in $cloud", ({ cloud, login, graph, user }) => {
  const scopes = MAIL.map(name => `https://${graph}/${name}`)

  test.each(['secret', 'certificate'] as const)(
    'redeems a code with PKCE and refreshes, with a %s',
    async proof => {
      await addClient(cloud, proof)
      const client = openClient(login, 'organizations', proof)
      const { verifier, challenge } = await new CryptoProvider().generatePkceCodes()
      const request = { scopes, redirectUri: REDIRECT }
      const url = await client.getAuthCodeUrl({
        ...request,
        nonce: 'n-1',
        codeChallenge: challenge,
        codeChallengeMethod: 'S256',
        loginHint: user,
      })
      expect(new URL(url).host).toBe(login)
      const code = (await used.signIn(user, url)).get('code') ?? ''
      const granted = await client.acquireTokenByCode({
        ...request,
        code,
        codeVerifier: verifier,
        nonce: 'n-1',
      })
      const domain = user.split('@')[1] ?? ''
      const tenantId = await used.tenantId(domain, cloud)
      expect(granted).toMatchObject({
        tenantId,
        account: { username: user, tenantId },
        idTokenClaims: { nonce: 'n-1', iss: `https://${login}/${tenantId}/v2.0`, tid: tenantId },
      })
      expect(granted.scopes).toEqual(expect.arrayContaining(scopes))
      const me = await used.get(graph, '/v1.0/me', granted.accessToken)
      expect([me.status, me.data.mail]).toEqual([200, user])
      expect(granted.uniqueId).toBe(me.data.id)

      // The library keeps its refresh token; a refresh leads to another access token.
      const account = granted.account
      if (!account) throw new Error('the library knows no account')
      const renewed = await client.acquireTokenSilent({ account, scopes, forceRefresh: true })
      expect(renewed.accessToken).not.toBe(granted.accessToken)
      expect((await used.get(graph, '/v1.0/me', renewed.accessToken)).status).toBe(200)
    },
  )

  test.each(['secret', 'certificate'] as const)('acts for itself, with a %s', async proof => {
    await addClient(cloud, proof, { applicationPermissions: ['Mail.Read', 'User.Read.All'] })
    const domain = user.split('@')[1] ?? ''
    const tenantId = await used.tenantId(domain, cloud)
    const client = openClient(login, tenantId, proof)
    const request = { scopes: [`https://${graph}/.default`] }
    await expect(client.acquireTokenByClientCredential(request)).rejects.toMatchObject({
      errorCode: 'unauthorized_client',
      errorMessage: expect.stringContaining('AADSTS7000229'),
    })
    const consentUrl = `https://${login}/${tenantId}/adminconsent?${new URLSearchParams({
      client_id: 'judged',
      redirect_uri: REDIRECT,
      state: 's-1',
    })}`
    const back = await used.signIn(user, consentUrl)
    expect(Object.fromEntries(back)).toEqual({ admin_consent: 'True', tenant: tenantId, state: 's-1' })
    const token = (await client.acquireTokenByClientCredential(request))?.accessToken ?? ''
    expect((await used.get(graph, `/v1.0/users/${user}`, token)).data).toMatchObject({ mail: user })
    expect((await used.get(graph, `/v1.0/users/${user}/messages?$top=1`, token)).status).toBe(200)
    expect(await used.get(graph, '/v1.0/me', token)).toMatchObject({ status: 400 })
  })
})

test("Microsoft's own library signs a person in, who has no organization", async () => {
  await addClient('global', 'secret')
  const client = openClient('login.microsoftonline.com', 'common', 'secret')
  const request = { scopes: [...MAIL, 'Mail.ReadWrite.Shared'], redirectUri: REDIRECT }
  const code = (await used.signIn('greta@outlook.test', await client.getAuthCodeUrl(request))).get('code')
  const granted = await client.acquireTokenByCode({ ...request, code: code ?? '' })
  expect(granted).toMatchObject({
    tenantId: '9188040d-6c67-4c5b-b112-36a304b66dad',
    uniqueId: expect.stringMatching(/^00000000-0000-0000-/),
    account: { username: 'greta@outlook.test' },
  })
  // Persons have no shared mailboxes.
  expect(granted.scopes.filter(scope => scope.includes('.'))).toEqual(MAIL)
  const { data } = await used.get('graph.microsoft.com', '/v1.0/me', granted.accessToken)
  expect(granted.uniqueId.replaceAll('-', '').slice(-16)).toBe(data.id)
})

test("Microsoft's own library uses the newest of refresh tokens that work once", async () => {
  await addClient('global', 'secret', { singleUseRefreshTokens: true })
  const client = openClient('login.microsoftonline.com', 'organizations', 'secret')
  const url = await client.getAuthCodeUrl({ scopes: MAIL, redirectUri: REDIRECT })
  const code = (await used.signIn('eva@office.test', url)).get('code') ?? ''
  const { account } = await client.acquireTokenByCode({ code, scopes: MAIL, redirectUri: REDIRECT })
  if (!account) throw new Error('the library knows no account')
  const renew = () => client.acquireTokenSilent({ account, scopes: MAIL, forceRefresh: true })
  const tokens = [await renew(), await renew(), await renew()].map(({ accessToken }) => accessToken)
  expect(new Set(tokens).size).toBe(3)
})

test("Microsoft's own library reports a new password as a need to sign in again", async () => {
  await addClient('global', 'secret')
  const client = openClient('login.microsoftonline.com', 'organizations', 'secret')
  const url = await client.getAuthCodeUrl({ scopes: MAIL, redirectUri: REDIRECT })
  const code = (await used.signIn('eva@office.test', url)).get('code') ?? ''
  const { account } = await client.acquireTokenByCode({ code, scopes: MAIL, redirectUri: REDIRECT })
  if (!account) throw new Error('the library knows no account')
  await used.ask('PATCH', '/users/eva@office.test', { passwordChanged: true })
  const renewed = client.acquireTokenSilent({ account, scopes: MAIL, forceRefresh: true })
  await expect(renewed).rejects.toMatchObject({
    name: 'InteractionRequiredAuthError',
    errorMessage: expect.stringContaining('AADSTS50173'),
  })
})
