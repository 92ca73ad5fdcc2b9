import { ProviderFailure, restate } from '../failure.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import type { Secret } from '../../kit/secret.ts'
import { presentableName } from '../oauth/presentable-name.ts'
import { type TokenAnswer, tokensOf } from '../oauth/token-answer.ts'
import type { ApprovalRequest, AuthorizeRequest, Grant, SignIn, SignInClient } from '../sign-in.ts'
import { type CloudRow, CLOUDS } from './clouds.ts'
import { Discovery } from './discovery.ts'
import { IdTokens } from './id-token.ts'
import { identify } from './identify.ts'
import {
  grantsMail,
  halvesOf,
  isGranted,
  readsMail,
  scopesFor,
  scopesOfMail,
  scopesOfRefresh,
  scopesToTry,
  sharesMailboxes,
} from './scopes.ts'
import { mailboxIdOf, sharedSubjectOf, subjectOf } from './subject.ts'
import { tokenEndpoint } from './token-endpoint.ts'

export interface MicrosoftSignInOptions {
  calls: ProviderCalls
  /** The origins that stand in for Microsoft's hosts, also for the browser; null: Microsoft itself. */
  standIns: ReadonlyMap<string, URL> | null
  /** The cloud to sign in to. */
  row: CloudRow
  /** Milliseconds since 1970. */
  now?: () => number
}

/** The sign-ins of all clouds. */
export function microsoftSignIns(options: Omit<MicrosoftSignInOptions, 'row'>): readonly SignIn[] {
  return Object.values(CLOUDS).map(row => microsoftSignIn({ ...options, row }))
}

export function microsoftSignIn({ calls, standIns, row, now = Date.now }: MicrosoftSignInOptions): SignIn {
  const discovery = new Discovery(calls, row)
  const idTokens = new IdTokens(calls, discovery, row)
  const tokens = tokenEndpoint({ calls, discovery, row, now })
  const pages = standIns?.get(row.login) ?? new URL(`https://${row.login}`)

  /** Finds out whose mailbox was granted. @throws `scope_missing` if mail is not among it */
  async function identifyUser(
    answer: TokenAnswer,
    expected: { client: SignInClient; nonce: string | null; scopes: readonly string[]; isDenied: boolean },
    signal: AbortSignal,
  ): Promise<Pick<Grant, 'scopes' | 'halves' | 'identity'>> {
    const { client, nonce, isDenied } = expected
    // Without it nobody knows whose mailbox it is: administrators can set addresses freely.
    if (answer.idToken === null)
      throw new ProviderFailure(
        'scope_missing',
        'The grant does not name its user. It needs openid and profile.',
      )
    const user = await idTokens.check(answer.idToken, { audience: client.clientId, nonce }, signal)
    // RFC 6749 section 5.1: an answer without `scope` grants the requested scopes.
    const scopes = answer.scopes ?? expected.scopes
    if (!grantsMail(row, expected.scopes, scopes))
      throw new ProviderFailure('scope_missing', 'The permission to read and change mail was not granted.', {
        ...(isDenied && { reason: 'scope_denied' }),
      })
    const subject = subjectOf(user)
    const { accessToken } = answer
    const { email, name, inboxId } = await identify(
      calls,
      row,
      { accessToken, mailboxId: mailboxIdOf(subject) },
      signal,
    )
    return {
      scopes,
      halves: halvesOf(row, scopes),
      identity: {
        subject,
        sharedSubject: sharedSubjectOf(inboxId),
        email,
        displayName: presentableName(name ?? user.name),
      },
    }
  }

  const refreshWith = (
    client: SignInClient,
    refreshToken: string,
    scopes: readonly string[],
    signal: AbortSignal,
  ) =>
    tokens.request(
      client,
      { grant_type: 'refresh_token', refresh_token: refreshToken, scope: scopes.join(' ') },
      signal,
    )

  /** Refreshes with the first of these lists of scopes that does not ask for more than was granted. */
  async function refreshWithAny(
    client: SignInClient,
    refreshToken: Secret,
    lists: ReadonlyArray<readonly string[]>,
    signal: AbortSignal,
  ): Promise<{ answer: TokenAnswer; scopes: readonly string[] }> {
    let refused: unknown
    for (const scopes of lists) {
      try {
        return { answer: await refreshWith(client, refreshToken.reveal(), scopes, signal), scopes }
      } catch (error) {
        unlessTooMuch(error)
        refused = error
      }
    }
    throw refused
  }

  return {
    place: { provider: 'microsoft', cloud: row.cloud },

    isIssuer: async (iss, signal) => (await discovery.find(signal)).isIssuer(iss),

    scopesFor: (scopesOfApp, asked) => scopesFor(row, scopesOfApp, asked),
    readsMail: scopes => readsMail(row, scopes),
    sharesMailboxes: scopes => sharesMailboxes(row, scopes),
    halvesOf: scopes => halvesOf(row, scopes),
    authorizeUrl: request => authorizeUrl(new URL(`/${row.tenant}/oauth2/v2.0/authorize`, pages), request),
    approvalUrl: request => approvalUrl(pages, request),

    async exchange({ client, redirectUri, code, codeVerifier, nonce, scopes }, signal) {
      /** A code is lost if it is redeemed for more than was granted, so what mail does not need is asked for afterwards. */
      async function withAll(answer: TokenAnswer): Promise<TokenAnswer> {
        const { refreshToken } = answer
        if (refreshToken === null || isGranted(row, scopes, answer.scopes ?? scopes)) return answer
        const fuller = await refreshWithAny(client, refreshToken, [scopes], signal).catch(unlessOurs)
        if (!fuller) return answer
        return {
          ...fuller.answer,
          idToken: answer.idToken,
          refreshToken: fuller.answer.refreshToken ?? refreshToken,
        }
      }
      const form = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        code_verifier: codeVerifier,
        scope: scopesOfMail(row, scopes).join(' '),
      }
      const answer = await withAll(await tokens.request(client, form, signal).catch(blameUser))
      const { refreshToken, idToken } = answer
      if (!refreshToken || idToken === null)
        throw new ProviderFailure('rejected', 'Microsoft left out the refresh token or the ID token.')
      const who = await identifyUser(answer, { client, nonce, scopes, isDenied: true }, signal)
      return { ...tokensOf(answer), ...who, refreshToken }
    },

    async adopt(client, refreshToken, scopesOfApp, asked, signal) {
      const lists = scopesToTry(row, scopesOfApp, asked)
      const { answer, scopes } = await refreshWithAny(client, refreshToken, lists, signal)
      const who = await identifyUser(answer, { client, nonce: null, scopes, isDenied: false }, signal)
      return { ...tokensOf(answer), ...who, refreshToken: answer.refreshToken ?? refreshToken }
    },

    async refresh(client, refreshToken, scopes, signal) {
      try {
        return tokensOf(await refreshWith(client, refreshToken.reveal(), scopesOfRefresh(scopes), signal))
      } catch (error) {
        // A permission that was granted once has been withdrawn since then.
        if (error instanceof ProviderFailure && error.kind === 'scope_missing')
          throw restate(error, { kind: 'grant_refused' })
        throw error
      }
    },

    // Microsoft has no revocation of a single grant.
    revoke: () => Promise.resolve(),
  }
}

/** Null if more was asked for than was granted; throws every other error. */
function unlessTooMuch(error: unknown): null {
  if (error instanceof ProviderFailure && error.kind === 'scope_missing') return null
  throw error
}

/** Null if the provider failed: mail was granted, and what is wrong with the rest must not cost the sign-in. */
function unlessOurs(error: unknown): null {
  if (error instanceof ProviderFailure) return null
  throw error
}

/** A permission that is missing at the end of a sign-in is one that its user has just left out. */
function blameUser(error: unknown): never {
  if (error instanceof ProviderFailure && error.kind === 'scope_missing')
    throw new ProviderFailure('scope_missing', error.message, { reason: 'scope_denied', cause: error })
  throw error
}

function authorizeUrl(url: URL, request: AuthorizeRequest): string {
  url.search = new URLSearchParams({
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    response_type: 'code',
    response_mode: 'query',
    scope: request.scopes.join(' '),
    state: request.state,
    nonce: request.nonce,
    code_challenge: request.codeChallenge,
    code_challenge_method: 'S256',
    // Without a hint the browser may be signed in to several accounts, or to another one than is meant.
    ...(request.loginHint === null ? { prompt: 'select_account' } : { login_hint: request.loginHint }),
  }).toString()
  return url.href
}

/** learn.microsoft.com/entra/identity-platform/v2-admin-consent */
function approvalUrl(pages: URL, { clientId, redirectUri, scopes, domain }: ApprovalRequest): string {
  const url = new URL(`/${encodeURIComponent(domain ?? 'organizations')}/v2.0/adminconsent`, pages)
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scopes.join(' '),
  }).toString()
  return url.href
}
