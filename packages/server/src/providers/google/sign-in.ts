import { ProviderFailure } from '../failure.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import type { AuthorizeRequest, Grant, SignIn, SignInClient } from '../sign-in.ts'
import { presentableName } from '../oauth/presentable-name.ts'
import { type TokenAnswer, tokensOf } from '../oauth/token-answer.ts'
import { HOSTS } from './hosts.ts'
import { IdTokens, ISSUER, type SignedInUser } from './id-token.ts'
import { findAddress, findUser } from './identify.ts'
import { grantsMail, halvesOf, OPENID, PROFILE, readsMail, scopesFor } from './scopes.ts'
import { requestRevocation, requestTokens } from './token-endpoint.ts'

export interface GoogleSignInOptions {
  calls: ProviderCalls
  /** The origins that stand in for Google's hosts, also for the browser; null: Google itself. */
  standIns: ReadonlyMap<string, URL> | null
}

export function googleSignIn({ calls, standIns }: GoogleSignInOptions): SignIn {
  const idTokens = new IdTokens(calls)

  /** Finds out whose mailbox was granted. @throws `scope_missing` if mail is not among it */
  async function identify(
    answer: TokenAnswer,
    expected: { client: SignInClient; nonce: string | null; scopes: readonly string[]; isDenied: boolean },
    signal: AbortSignal,
  ): Promise<Pick<Grant, 'scopes' | 'halves' | 'identity'>> {
    const { client, nonce, isDenied } = expected
    const proven =
      answer.idToken === null
        ? null
        : await idTokens.check(answer.idToken, { audience: client.clientId, nonce }, signal)
    // RFC 6749 section 5.1: an answer without `scope` grants the requested scopes.
    const scopes = answer.scopes ?? expected.scopes
    if (!grantsMail(expected.scopes, scopes))
      throw new ProviderFailure('scope_missing', 'The permission to read and change mail was not granted.', {
        ...(isDenied && { reason: 'scope_denied' }),
      })
    const email = await findAddress(calls, answer.accessToken, signal)
    const user = await findWho(answer, proven, scopes, signal)
    return {
      scopes,
      halves: halvesOf(scopes),
      identity: {
        subject: user && `google:${user.subject}`,
        email,
        displayName: presentableName(user?.name ?? null),
      },
    }
  }

  /** The ID token identifies the user; on a refresh it may lack the name, or be missing itself. */
  async function findWho(
    { accessToken }: TokenAnswer,
    proven: SignedInUser | null,
    scopes: readonly string[],
    signal: AbortSignal,
  ): Promise<SignedInUser | null> {
    if (proven && (proven.name !== null || !scopes.includes(PROFILE))) return proven
    if (!proven && !scopes.includes(OPENID)) return null
    const found = await findUser(calls, accessToken, signal).catch((error: unknown) => {
      if (proven) return proven
      throw error
    })
    if (proven && proven.subject !== found.subject)
      throw new ProviderFailure('rejected', 'Google names two users for one sign-in.')
    return found
  }

  return {
    place: { provider: 'google', cloud: null },
    isIssuer: async iss => iss === ISSUER,
    scopesFor,
    readsMail,
    sharesMailboxes: () => false,
    halvesOf,

    authorizeUrl: request => authorizeUrl(standIns?.get(HOSTS.pages) ?? new URL(ISSUER), request),
    approvalUrl: () => null,

    async exchange({ client, redirectUri, code, codeVerifier, nonce, scopes }, signal) {
      const answer = await requestTokens(
        calls,
        {
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          code_verifier: codeVerifier,
          ...credentials(client),
        },
        signal,
      )
      const { refreshToken, idToken } = answer
      if (!refreshToken || idToken === null)
        throw new ProviderFailure('rejected', 'Google left out the refresh token or the ID token.')
      const who = await identify(answer, { client, nonce, scopes, isDenied: true }, signal)
      return { ...tokensOf(answer), ...who, refreshToken }
    },

    async adopt(client, refreshToken, scopesOfApp, asked, signal) {
      const answer = await requestTokens(calls, refreshForm(client, refreshToken.reveal()), signal)
      if (answer.scopes === null)
        throw new ProviderFailure('rejected', 'Google does not report what the refresh token allows.')
      const scopes = scopesFor(scopesOfApp, asked)
      const who = await identify(answer, { client, nonce: null, scopes, isDenied: false }, signal)
      return { ...tokensOf(answer), ...who, refreshToken: answer.refreshToken ?? refreshToken }
    },

    refresh: async (client, refreshToken, _, signal) =>
      tokensOf(await requestTokens(calls, refreshForm(client, refreshToken.reveal()), signal)),

    revoke: (refreshToken, signal) => requestRevocation(calls, refreshToken, signal),
  }
}

function authorizeUrl(origin: URL, request: AuthorizeRequest): string {
  const url = new URL('/o/oauth2/v2/auth', origin)
  url.search = new URLSearchParams({
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    response_type: 'code',
    scope: request.scopes.join(' '),
    state: request.state,
    nonce: request.nonce,
    code_challenge: request.codeChallenge,
    code_challenge_method: 'S256',
    // Without consent, Google gives no refresh token to users who have granted before.
    access_type: 'offline',
    prompt: 'consent',
    // The grant is to hold the scopes requested here, and none that other products of the same app were granted.
    include_granted_scopes: 'false',
    ...(request.loginHint !== null && { login_hint: request.loginHint }),
  }).toString()
  return url.href
}

function refreshForm(client: SignInClient, refreshToken: string): Record<string, string> {
  return { grant_type: 'refresh_token', refresh_token: refreshToken, ...credentials(client) }
}

function credentials({ clientId, credential }: SignInClient): Record<string, string> {
  if (credential.type !== 'secret')
    throw new ProviderFailure('misconfigured', 'Google takes no certificate of an OAuth app.', {
      reason: 'invalid_client',
    })
  return { client_id: clientId, client_secret: credential.secret.reveal() }
}
