import { beforeAll, describe, expect, test } from 'vitest'
import { callsTo } from '../../../test/gmail/reach-sandbox.ts'
import { makeAppCertificate, type MadeCertificate } from '../../../test/microsoft/app-certificate.ts'
import { type SandboxServer, startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { Secret } from '../../kit/secret.ts'
import { beginSignIn, describeSignIn, type SignInArrangement } from '../conformance/sign-in.ts'
import type { Cloud, Halves, SignInClient } from '../sign-in.ts'
import { CLOUDS } from './clouds.ts'
import { microsoftSignIn } from './sign-in.ts'
import { mailboxIdOf } from './subject.ts'

const USERS: Readonly<Record<Cloud, string>> = {
  global: 'eva@office.test',
  'gcc-high': 'gil@gcc.test',
  dod: 'hal@dod.test',
  china: 'ida@china.test',
}
const PERSONAL = 'dora@outlook.test'
const FAULTS = {
  throttled: { does: 'rate_limit', retryAfterSeconds: 7 },
  down: { does: 'error', status: 503 },
  torn: { does: 'torn' },
  unauthorized: { does: 'unauthorized' },
}
const MAIL_ALONE = { calendar: false, contacts: false, shared: false }
const SHARED = { ...MAIL_ALONE, shared: true }
const BOTH: Halves = { calendar: 'writes', contacts: 'writes' }
const never = new AbortController().signal

const seed = {
  users: [...Object.entries(USERS), ['global', PERSONAL] as const].map(([cloud, email]) => ({
    provider: 'microsoft',
    cloud,
    email,
    name: `User of ${email}`,
    messages: 0,
  })),
  clients: Object.keys(USERS).map(cloud => ({
    provider: 'microsoft',
    cloud,
    clientId: 'sandbox',
    clientSecret: 'sandbox-secret',
  })),
}
const sandbox = useServer<SandboxServer>(() => startSandbox({ seed }))
const CLIENT: SignInClient = {
  clientId: 'sandbox',
  credential: { type: 'secret', secret: new Secret('sandbox-secret') },
}

interface Opened extends SignInArrangement {
  server: SandboxServer
}

async function open(cloud: Cloud, email = USERS[cloud], now?: () => number): Promise<Opened> {
  const server = sandbox()
  await server.reset()
  const row = CLOUDS[cloud]
  const calls = callsTo(server)
  const standIns = new Map(Object.entries(server.hosts).map(([host, origin]) => [host, new URL(origin)]))
  const at = { provider: 'microsoft', cloud }
  return {
    server,
    signIn: microsoftSignIn({ calls, standIns, row, ...(now && { now }) }),
    client: CLIENT,
    redirectUri: 'http://127.0.0.1:8025/connect/callback/microsoft',
    email,
    identityScopes: ['openid', 'email', 'profile'],
    calendarScope: `https://${row.graph}/Calendars.ReadWrite`,
    contactsScope: `https://${row.graph}/Contacts.ReadWrite`,
    async answer(url, without = []) {
      const asked = new URL(url).searchParams.get('scope')?.split(' ') ?? []
      const scopes = asked.filter(scope => !without.includes(scope))
      return new URL((await server.authorize(url, email, { scopes })).redirectUrl)
    },
    grantElsewhere: async scopes =>
      new Secret((await server.grant(email, scopes, 'sandbox', at)).refreshToken),
    end: async () => server.changeUser(email, { passwordChanged: true }),
    failOnce: async (where, how) => {
      const host = where === 'tokens' ? row.login : row.graph
      const path = where === 'tokens' ? '*/oauth2/v2.0/token' : '/v1.0/*'
      await server.addFault({ ...FAULTS[how], host, path, count: 1 })
    },
    [Symbol.asyncDispose]: () => calls[Symbol.asyncDispose](),
  }
}

describe.each(Object.keys(USERS) as Cloud[])('in the cloud %s', cloud => {
  describeSignIn(() => open(cloud), { halves: BOTH, accumulates: true, takesNameless: false })

  test('calls no host of another cloud', async () => {
    await using arranged = await open(cloud)
    const { signIn, server, client } = arranged
    const grant = await signIn.exchange(await beginSignIn(arranged), never)
    await signIn.refresh(client, grant.refreshToken, grant.scopes, never)
    const { items } = await server.calls()
    const { login, graph } = CLOUDS[cloud]
    expect(new Set(items.map(({ host }) => host))).toEqual(new Set([login, graph]))
  })
})

describe('a sign-in to Microsoft', () => {
  test('asks for what the app may do, and binds the code to a verifier', () => {
    const signIn = microsoftSignIn({ calls: callsTo({ hosts: {} }), standIns: null, row: CLOUDS.china })
    const request = {
      clientId: 'an-app',
      redirectUri: 'https://mail.example.com/connect/callback/microsoft',
      scopes: signIn.scopesFor(null, MAIL_ALONE),
      state: 'the state',
      nonce: 'the nonce',
      codeChallenge: 'the challenge',
      loginHint: null,
    }
    const url = new URL(signIn.authorizeUrl(request))
    expect(url.origin + url.pathname).toBe(
      'https://login.partner.microsoftonline.cn/organizations/oauth2/v2.0/authorize',
    )
    const graph = 'https://microsoftgraph.chinacloudapi.cn/'
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'an-app',
      redirect_uri: 'https://mail.example.com/connect/callback/microsoft',
      response_type: 'code',
      response_mode: 'query',
      scope: `openid email profile offline_access ${graph}User.Read ${graph}Mail.ReadWrite ${graph}Mail.Send`,
      state: 'the state',
      nonce: 'the nonce',
      code_challenge: 'the challenge',
      code_challenge_method: 'S256',
      prompt: 'select_account',
    })
    const hinted = new URL(signIn.authorizeUrl({ ...request, loginHint: 'ida@china.test' })).searchParams
    expect([hinted.get('login_hint'), hinted.get('prompt')]).toEqual(['ida@china.test', null])
  })

  test('names the mailbox by directory and user, also of a personal account', async () => {
    for (const email of [USERS.global, PERSONAL]) {
      await using arranged = await open('global', email)
      const { identity } = await arranged.signIn.exchange(await beginSignIn(arranged), never)
      expect(identity).toMatchObject({ email, displayName: `User of ${email}` })
      expect(mailboxIdOf(identity.subject ?? '')).toMatch(
        email === PERSONAL ? /^[0-9a-f]{16}$/ : /^[0-9a-f-]{36}$/,
      )
    }
  })

  test('accepts its issuers, and no others', async () => {
    await using arranged = await open('global')
    const { signIn } = arranged
    const tid = 'aaaaaaaa-0000-4000-8000-000000000001'
    expect(await signIn.isIssuer(`https://login.microsoftonline.com/${tid}/v2.0`, never)).toBe(true)
    for (const iss of [
      'https://login.microsoftonline.com/common/v2.0',
      `https://login.microsoftonline.us/${tid}/v2.0`,
    ])
      expect(await signIn.isIssuer(iss, never)).toBe(false)
  })

  test('leaves a grant alone when an account is deleted, since nothing ends a single one', async () => {
    await using arranged = await open('global')
    const { signIn, client } = arranged
    const grant = await signIn.exchange(await beginSignIn(arranged), never)
    await signIn.revoke(grant.refreshToken, never)
    expect(await signIn.refresh(client, grant.refreshToken, grant.scopes, never)).toMatchObject({
      refreshToken: expect.any(Secret),
    })
  })

  test.each([
    [50_173, 'grant_refused', null],
    [700_082, 'grant_refused', null],
    [70_008, 'grant_refused', null],
    [50_076, 'grant_refused', null],
    [50_079, 'grant_refused', null],
    [65_001, 'grant_refused', null],
    [7_000_215, 'misconfigured', 'invalid_client'],
    [7_000_222, 'misconfigured', 'invalid_client'],
    [90_033, 'unavailable', null],
  ])('means the right thing by AADSTS%i at a refresh', async (code, kind, reason) => {
    await using arranged = await open('global')
    const { signIn, client, server, email } = arranged
    const grant = await signIn.exchange(await beginSignIn(arranged), never)
    await server.control('POST', '/token-refusals', { code, user: email })
    const refresh = () => signIn.refresh(client, grant.refreshToken, grant.scopes, never)
    await expect(refresh()).rejects.toMatchObject({ kind, reason })
    expect(await refresh()).toMatchObject({ accessToken: expect.any(Secret) })
  })
})

describe('mailboxes of others', () => {
  test('are granted to a user of an organization', async () => {
    await using arranged = await open('global')
    const { signIn, client } = arranged
    const token = await arranged.grantElsewhere(signIn.scopesFor(null, SHARED))
    const grant = await signIn.adopt(client, token, null, SHARED, never)
    expect(signIn.sharesMailboxes(grant.scopes)).toBe(true)
    await signIn.refresh(client, grant.refreshToken, grant.scopes, never)
  })

  test('need not be granted', async () => {
    await using arranged = await open('global')
    const { signIn, client } = arranged
    const token = await arranged.grantElsewhere(signIn.scopesFor(null, MAIL_ALONE))
    const grant = await signIn.adopt(client, token, null, SHARED, never)
    expect(signIn.sharesMailboxes(grant.scopes)).toBe(false)
    expect(signIn.readsMail(grant.scopes)).toBe(true)
  })

  test('exist for no personal account, which signs in all the same', async () => {
    await using arranged = await open('global', PERSONAL)
    const { signIn, client } = arranged
    const token = await arranged.grantElsewhere(signIn.scopesFor(null, SHARED))
    const grant = await signIn.adopt(client, token, null, SHARED, never)
    expect(signIn.sharesMailboxes(grant.scopes)).toBe(false)
  })
})

describe('an app with a certificate', () => {
  let made: MadeCertificate
  let other: MadeCertificate
  beforeAll(async () => {
    ;[made, other] = await Promise.all([makeAppCertificate(), makeAppCertificate()])
  })
  const clientOf = ({ certificate, privateKey }: MadeCertificate): SignInClient => ({
    clientId: 'certified',
    credential: { type: 'certificate', certificate, privateKey: new Secret(privateKey) },
  })
  async function openCertified(cloud: Cloud, given: MadeCertificate, now?: () => number) {
    const arranged = await open(cloud, USERS[cloud], now)
    const certificates = [made.certificate]
    await arranged.server.addClient({ provider: 'microsoft', cloud, clientId: 'certified', certificates })
    return { ...arranged, client: clientOf(given) }
  }

  test.each(Object.keys(USERS) as Cloud[])('signs in and refreshes in the cloud %s', async cloud => {
    await using arranged = await openCertified(cloud, made)
    const { signIn, client } = arranged
    const grant = await signIn.exchange(await beginSignIn(arranged), never)
    for (let times = 0; times < 2; times++)
      expect(await signIn.refresh(client, grant.refreshToken, grant.scopes, never)).toMatchObject({
        accessToken: expect.any(Secret),
      })
  })

  test('is refused with another certificate', async () => {
    await using arranged = await openCertified('global', other)
    await expect(arranged.signIn.exchange(await beginSignIn(arranged), never)).rejects.toMatchObject({
      kind: 'misconfigured',
      reason: 'invalid_client',
    })
  })

  test.each([-3600, 3600])('is not blamed for a clock that is wrong by %i seconds', async seconds => {
    await using arranged = await openCertified('global', made, () => Date.now() + seconds * 1_000)
    await expect(arranged.signIn.exchange(await beginSignIn(arranged), never)).rejects.toMatchObject({
      kind: 'unavailable',
      reason: null,
    })
  })
})
