import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../kit/secret.ts'
import { ProviderFailure } from '../failure.ts'
import type { CodeExchange, Halves, SignIn, SignInClient } from '../sign-in.ts'

/** A provider with a person who signs in to one mailbox, and an OAuth app. */
export interface SignInArrangement extends AsyncDisposable {
  signIn: SignIn
  client: SignInClient
  redirectUri: string
  email: string
  /** The scopes that identify the user. */
  identityScopes: readonly string[]
  calendarScope: string
  contactsScope: string
  /** Signs in at the URL as the person, and grants the requested scopes except these. Returns the redirect's URL. */
  answer(authorizeUrl: string, without?: readonly string[]): Promise<URL>
  /** A refresh token that was obtained elsewhere. */
  grantElsewhere(scopes: readonly string[]): Promise<Secret>
  /** Ends the grant of a refresh token. */
  end(refreshToken: Secret): Promise<void>
  /** Makes the token endpoint or the first call fail once. */
  failOnce(at: 'tokens' | 'mailbox', how: 'throttled' | 'down' | 'torn' | 'unauthorized'): Promise<void>
}

const BOTH = { calendar: true, contacts: true }
const NEITHER: Halves = { calendar: 'none', contacts: 'none' }
const ASKED = { ...BOTH, shared: false }
const MAIL_ALONE = { calendar: false, contacts: false, shared: false }
const never = new AbortController().signal
const random = () => randomBytes(32).toString('base64url')

const WRONG = { type: 'secret' as const, secret: new Secret('wrong') }

function secretOf({ credential }: SignInClient): Secret {
  return credential.type === 'secret' ? credential.secret : credential.privateKey
}

/** Goes through the provider's pages. Returns the secrets that redeem the code. */
export async function beginSignIn(
  { signIn, client, redirectUri, email, answer }: SignInArrangement,
  without: readonly string[] = [],
): Promise<CodeExchange & { answered: URL; state: string }> {
  const [state, nonce, codeVerifier] = [random(), random(), random()]
  const scopes = signIn.scopesFor(null, ASKED)
  const url = signIn.authorizeUrl({
    clientId: client.clientId,
    redirectUri,
    scopes,
    state,
    nonce,
    codeChallenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    loginHint: email,
  })
  const answered = await answer(url, without)
  const code = answered.searchParams.get('code') ?? ''
  return { client, redirectUri, code, codeVerifier, nonce, scopes, answered, state }
}

/** How providers differ. */
export interface SignInTraits {
  /** The halves of a grant of everything that is asked for. */
  halves: Halves
  /** Whether a grant holds everything that its user has ever granted to the app. */
  accumulates: boolean
  /** Whether a grant that does not name the user is taken. */
  takesNameless: boolean
}

/** Contract of every adapter by which users sign in. */
export function describeSignIn(open: () => Promise<SignInArrangement>, traits: SignInTraits): void {
  describe('sign-in', () => {
    test('gives a grant of the mailbox, which can be refreshed until it ends', async () => {
      await using arranged = await open()
      const { signIn, client, redirectUri, email } = arranged
      const begun = await beginSignIn(arranged)
      expect(begun.answered.href.startsWith(redirectUri)).toBe(true)
      expect(begun.answered.searchParams.get('state')).toBe(begun.state)
      const grant = await signIn.exchange(begun, never)
      expect(grant.identity.email).toBe(email)
      expect(grant.identity.subject).toMatch(new RegExp(`^${signIn.place.provider}:.+`))
      expect(grant.identity.displayName).not.toBeNull()
      expect(grant.halves).toEqual(traits.halves)
      expect(signIn.readsMail(grant.scopes)).toBe(true)

      const tokens = await signIn.refresh(client, grant.refreshToken, grant.scopes, never)
      expect(tokens.accessToken.reveal()).not.toBe(grant.accessToken.reveal())
      expect(tokens.expiresInSeconds).toBeGreaterThan(0)
      const latest = tokens.refreshToken ?? grant.refreshToken
      await arranged.end(latest)
      await expect(signIn.refresh(client, latest, grant.scopes, never)).rejects.toMatchObject({
        kind: 'grant_refused',
      })
      await signIn.revoke(latest, never)
    })

    test('names the same subject again, also for a refresh token from elsewhere', async () => {
      await using arranged = await open()
      const { signIn, client } = arranged
      const first = await signIn.exchange(await beginSignIn(arranged), never)
      const second = await signIn.exchange(await beginSignIn(arranged), never)
      expect(second.identity).toEqual(first.identity)
      const elsewhere = await arranged.grantElsewhere(signIn.scopesFor(null, MAIL_ALONE))
      const adopted = await signIn.adopt(client, elsewhere, null, MAIL_ALONE, never)
      expect(adopted.identity).toEqual(first.identity)
      expect(adopted.halves).toEqual(traits.accumulates ? traits.halves : NEITHER)
    })

    test('takes a grant that does not name the user for its mailbox alone, or refuses it', async () => {
      await using arranged = await open()
      const { signIn, client, email } = arranged
      const mailOnly = signIn
        .scopesFor(null, MAIL_ALONE)
        .filter(scope => !arranged.identityScopes.includes(scope))
      const adopting = signIn.adopt(client, await arranged.grantElsewhere(mailOnly), null, MAIL_ALONE, never)
      if (!traits.takesNameless) {
        await expect(adopting).rejects.toMatchObject({ kind: 'scope_missing' })
        return
      }
      const adopted = await adopting
      expect(adopted.identity).toEqual({ subject: null, email, displayName: null })
    })

    test.each<[string, (exchange: CodeExchange) => CodeExchange, kind: string]>([
      ['another nonce', given => ({ ...given, nonce: random() }), 'rejected'],
      ['another code verifier', given => ({ ...given, codeVerifier: random() }), 'grant_refused'],
      ['another code', given => ({ ...given, code: random() }), 'grant_refused'],
      ['another redirect', given => ({ ...given, redirectUri: 'http://127.0.0.1:1/no' }), 'rejected'],
      [
        'another secret',
        given => ({ ...given, client: { ...given.client, credential: WRONG } }),
        'misconfigured',
      ],
    ])('refuses a code with %s', async (_, change, kind) => {
      await using arranged = await open()
      const begun = await beginSignIn(arranged)
      await expect(arranged.signIn.exchange(change(begun), never)).rejects.toMatchObject({ kind })
    })

    test('redeems a code once', async () => {
      await using arranged = await open()
      const begun = await beginSignIn(arranged)
      await arranged.signIn.exchange(begun, never)
      await expect(arranged.signIn.exchange(begun, never)).rejects.toMatchObject({ kind: 'grant_refused' })
    })

    test('returns which permissions the user left out', async () => {
      await using arranged = await open()
      const begun = await beginSignIn(arranged, [arranged.calendarScope])
      const { halves } = await arranged.signIn.exchange(begun, never)
      expect(halves).toEqual({ calendar: 'none', contacts: 'writes' })
    })

    test('refuses a grant without mail', async () => {
      await using arranged = await open()
      const { signIn, client } = arranged
      const mail = signIn.scopesFor(null, MAIL_ALONE).filter(scope => signIn.readsMail([scope]))
      await expect(signIn.exchange(await beginSignIn(arranged, mail), never)).rejects.toMatchObject({
        kind: 'scope_missing',
        reason: 'scope_denied',
      })
      const elsewhere = await arranged.grantElsewhere(arranged.identityScopes)
      await expect(signIn.adopt(client, elsewhere, null, MAIL_ALONE, never)).rejects.toMatchObject({
        kind: 'scope_missing',
        reason: null,
      })
    })

    test('gives a grant of the mailbox without contacts if the user leaves them out', async () => {
      await using arranged = await open()
      const { signIn, client, email, contactsScope } = arranged
      const grant = await signIn.exchange(await beginSignIn(arranged, [contactsScope]), never)
      expect(grant.halves).toEqual({ ...traits.halves, contacts: 'none' })
      expect(signIn.readsMail(grant.scopes)).toBe(true)
      expect(grant.identity.email).toBe(email)
      await signIn.refresh(client, grant.refreshToken, grant.scopes, never)
    })

    test.each([
      ['tokens', 'throttled', 'throttled'],
      ['tokens', 'down', 'unavailable'],
      ['tokens', 'torn', 'unavailable'],
      ['mailbox', 'throttled', 'throttled'],
      ['mailbox', 'down', 'unavailable'],
      ['mailbox', 'unauthorized', 'access_refused'],
    ] as const)('tells trouble with %s apart: %s', async (at, how, kind) => {
      await using arranged = await open()
      const begun = await beginSignIn(arranged)
      await arranged.failOnce(at, how)
      const failure = await arranged.signIn.exchange(begun, never).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(ProviderFailure)
      expect(failure).toMatchObject({ kind })
    })

    test('shows no token in a failure or a printed grant', async () => {
      await using arranged = await open()
      const { signIn, client } = arranged
      const grant = await signIn.exchange(await beginSignIn(arranged), never)
      const printed = JSON.stringify(grant) + String(grant.accessToken)
      await arranged.end(grant.refreshToken)
      const failure: unknown = await signIn
        .refresh(client, grant.refreshToken, grant.scopes, never)
        .catch((error: unknown) => error)
      const text = `${printed}${JSON.stringify(failure)}${failure instanceof Error ? failure.message : ''}`
      for (const secret of [grant.accessToken, grant.refreshToken, secretOf(client)])
        expect(text).not.toContain(secret.reveal())
    })
  })
}
