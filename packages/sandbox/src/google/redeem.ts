import { createHash } from 'node:crypto'
import type { Call } from '../world/calls.ts'
import type { Client } from './clients.ts'
import type { CodeMeaning } from './codes.ts'
import { oauthError } from './errors.ts'
import { type AccessToken, ACCESS_TOKEN_SECONDS, type RefreshToken } from './grants.ts'
import type { GoogleGround } from './ground.ts'
import { signIdToken } from './id-token.ts'

/** Redeems an authorization code (RFC 6749 section 4.1.3, RFC 7636 section 4.5). */
export async function redeemCode(
  ground: GoogleGround,
  client: Client,
  form: URLSearchParams,
  call: Call,
): Promise<Response> {
  const code = form.get('code')
  if (!code) return oauthError(400, 'invalid_request', 'Missing required parameter: code')
  const { accounts } = ground
  // Some send it encoded twice, which Google takes.
  const meaning = accounts.codes.redeem(code) ?? accounts.codes.redeem(decodeSafely(code))
  if (!meaning || meaning.client.clientId !== client.clientId) {
    return code.startsWith('4/')
      ? oauthError(400, 'invalid_grant', 'Bad Request')
      : oauthError(400, 'invalid_grant', 'Malformed auth code.')
  }
  call.user = meaning.grant.user.email
  if (form.get('redirect_uri') !== meaning.redirectUri) {
    return oauthError(400, 'redirect_uri_mismatch', 'Bad Request')
  }
  const fault = verifierFault(meaning, form.get('code_verifier'))
  if (fault !== null) return oauthError(400, 'invalid_grant', fault)
  const { grant, scopes } = meaning
  // The grant may have ended since the page.
  if (accounts.grants.find(grant.user, client) !== grant || grant.user.suspended) {
    return oauthError(400, 'invalid_grant', 'Bad Request')
  }
  const refreshToken = meaning.givesRefreshToken ? accounts.grants.issueRefreshToken(grant, scopes) : null
  const accessToken = accounts.grants.issueAccessToken(grant.user, grant, scopes)
  return answerTokens(ground, client, accessToken, refreshToken, meaning.nonce)
}

/** Gives a new access token for a refresh token (RFC 6749 section 6). */
export async function refresh(
  ground: GoogleGround,
  client: Client,
  form: URLSearchParams,
  call: Call,
): Promise<Response> {
  const token = form.get('refresh_token')
  if (!token) return oauthError(400, 'invalid_request', 'Missing required parameter: refresh_token')
  const { grants } = ground.accounts
  const found = grants.findRefreshToken(token)
  if (!found) {
    const description = grants.wasRefreshToken(token) ? 'Token has been expired or revoked.' : 'Bad Request'
    return oauthError(400, 'invalid_grant', description)
  }
  if (found.grant.client.clientId !== client.clientId)
    return oauthError(401, 'unauthorized_client', 'Unauthorized')
  const { user } = found.grant
  call.user = user.email
  if (user.suspended) return oauthError(400, 'invalid_grant', 'Account has been deleted')
  const scopes = narrowedScopes(found, form.get('scope'))
  if (!scopes) return oauthError(400, 'invalid_scope', 'Some requested scopes were invalid.')
  const next = client.singleUseRefreshTokens ? grants.issueRefreshToken(found.grant, found.scopes) : null
  if (next) grants.endRefreshToken(token)
  return answerTokens(ground, client, grants.issueAccessToken(user, found.grant, scopes), next, null)
}

function narrowedScopes({ scopes }: RefreshToken, asked: string | null): readonly string[] | null {
  if (!asked) return scopes
  const fewer = asked.split(' ')
  return fewer.every(scope => scopes.includes(scope)) ? fewer : null
}

async function answerTokens(
  ground: GoogleGround,
  client: Client,
  accessToken: AccessToken,
  refreshToken: RefreshToken | null,
  nonce: string | null,
): Promise<Response> {
  const { user, scopes, token } = accessToken
  const expiresAt = refreshToken?.expiresAt ?? null
  const idToken = scopes.includes('openid')
    ? await signIdToken(ground, { user, clientId: client.clientId, scopes, nonce, accessToken: token })
    : null
  return Response.json(
    {
      access_token: token,
      expires_in: ACCESS_TOKEN_SECONDS,
      ...(refreshToken && { refresh_token: refreshToken.token }),
      ...(expiresAt !== null && {
        refresh_token_expires_in: Math.floor((expiresAt - ground.clock.now()) / 1000),
      }),
      scope: scopes.join(' '),
      token_type: 'Bearer',
      ...(idToken !== null && { id_token: idToken }),
    },
    { headers: { 'cache-control': 'no-store', pragma: 'no-cache' } },
  )
}

function verifierFault({ challenge }: CodeMeaning, verifier: string | null): string | null {
  if (!challenge) return verifier ? 'Code verifier is not needed.' : null
  if (!verifier) return 'Missing code verifier.'
  const given =
    challenge.method === 'S256' ? createHash('sha256').update(verifier).digest('base64url') : verifier
  return given === challenge.value ? null : 'Invalid code verifier.'
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
