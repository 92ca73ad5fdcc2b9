import type { Call } from '../../world/calls.ts'
import type { User } from '../../world/users.ts'
import type { MicrosoftGround } from '../ground.ts'
import type { Tenant } from '../tenants.ts'
import { authenticateClient, missing } from './client-authentication.ts'
import type { Client } from './clients.ts'
import { clientCredentials } from './client-credentials.ts'
import { isVerified } from './codes.ts'
import { type Endpoint, userProblem } from './endpoint.ts'
import { NO_STORE, signInError, type SignInError } from './errors.ts'
import { ACCESS_TOKEN_SECONDS } from './grants.ts'
import { clientInfo, signIdToken } from './id-token.ts'
import { issueAccessToken } from './access-token.ts'
import { cloudProblem, grantedPermissions, permissionsFor, readAsked, resourceCloud } from './permissions.ts'
import { type AskedScopes, presentScopes } from './scopes.ts'
import type { TokenRequest } from './token-request.ts'

/** Answers the token endpoint of a sign-in. Returns an error if the request is refused. */
export async function serveToken(
  ground: MicrosoftGround,
  endpoint: Endpoint,
  form: URLSearchParams,
  authorization: string | undefined,
  call: Call,
): Promise<Response | SignInError> {
  const type = form.get('grant_type')
  if (!type) return missing('grant_type')
  const serve = GRANT_TYPES[type]
  if (!serve)
    return signInError(
      70_003,
      'unsupported_grant_type',
      `The app requested an unsupported grant type '${type}'.`,
    )
  const client = await authenticateClient(ground, endpoint, form, authorization)
  if ('code' in client) return client
  call.clientId = client.clientId
  return serve(ground, { client, endpoint, form, call })
}

const GRANT_TYPES: Readonly<
  Record<string, (ground: MicrosoftGround, request: TokenRequest) => Promise<Response | SignInError>>
> = { authorization_code: redeemCode, refresh_token: refresh, client_credentials: clientCredentials }

/** Redeems an authorization code (RFC 6749 section 4.1.3, RFC 7636 section 4.5). */
async function redeemCode(
  ground: MicrosoftGround,
  { client, endpoint, form, call }: TokenRequest,
): Promise<Response | SignInError> {
  const code = form.get('code')
  if (!code) return missing('code')
  const meaning = ground.codes.redeem(code)
  if (meaning === 'unknown')
    return signInError(9_002_313, 'invalid_grant', 'Invalid request. Request is malformed or invalid.')
  if (meaning === 'redeemed')
    return signInError(
      54_005,
      'invalid_grant',
      'OAuth2 Authorization code was already redeemed, please retry with a new valid code or use an existing refresh token.',
    )
  if (meaning === 'expired')
    return signInError(
      70_008,
      'invalid_grant',
      'The provided authorization code or refresh token has expired due to inactivity. Send a new interactive authorization request for this user and resource.',
    )
  const { user } = meaning
  call.user = user.email
  if (meaning.client !== client)
    return signInError(
      700_005,
      'invalid_grant',
      'Provided Authorization Code is intended to use against other application, thus rejected.',
    )
  if (form.get('redirect_uri') !== meaning.redirectUri)
    return signInError(
      500_112,
      'invalid_client',
      `The reply address '${form.get('redirect_uri') ?? ''}' does not match the reply address '${meaning.redirectUri}' provided when requesting Authorization code.`,
      { status: 400 },
    )
  if (!isVerified(meaning, form.get('code_verifier')))
    return signInError(
      501_481,
      'invalid_grant',
      'The Code_Verifier does not match the code_challenge supplied in the authorization request.',
    )
  const asked = narrowed(meaning.asked, form.get('scope'), client)
  if ('code' in asked) return asked
  const problem = refusal(ground, user, client, endpoint, asked)
  if (problem) return problem
  return answerTokens(ground, { user, client, asked, nonce: meaning.nonce, form })
}

/** Gives a new access token and a new refresh token for a refresh token (RFC 6749 section 6). */
async function refresh(
  ground: MicrosoftGround,
  { client, endpoint, form, call }: TokenRequest,
): Promise<Response | SignInError> {
  const token = form.get('refresh_token')
  if (!token) return missing('refresh_token')
  const found = ground.grants.findRefreshToken(token)
  if (!found || found.client !== client)
    return signInError(9_002_313, 'invalid_grant', 'Invalid request. Request is malformed or invalid.')
  const { user, issuedAt } = found
  call.user = user.email
  if (ground.grants.isExpired(found))
    return signInError(
      700_082,
      'invalid_grant',
      `The refresh token has expired due to inactivity. The token was issued on ${new Date(issuedAt).toISOString()} and was inactive for 90.00:00:00.`,
      { suberror: 'bad_token' },
    )
  const validFrom = ground.grants.tokensValidFrom(user)
  if (found.isUsed || issuedAt < validFrom)
    return signInError(
      50_173,
      'invalid_grant',
      `The provided grant has expired due to it being revoked, a fresh auth token is needed. The user might have changed or reset their password. The grant was issued on '${new Date(issuedAt).toISOString()}' and the TokensValidFrom date (before which tokens are not valid) for this user is '${new Date(validFrom).toISOString()}'.`,
      { suberror: 'bad_token' },
    )
  const asked = narrowed(found.asked, form.get('scope'), client)
  if ('code' in asked) return asked
  const problem = refusal(ground, user, client, endpoint, asked)
  if (problem) return problem
  found.usedAt = ground.clock.now()
  if (client.singleUseRefreshTokens) found.isUsed = true
  return answerTokens(ground, { user, client, asked, nonce: null, form })
}

/** The scopes of the token request, or else those of the request before. */
function narrowed(before: AskedScopes, scope: string | null, client: Client): AskedScopes | SignInError {
  if (!scope) return before
  const asked = readAsked(scope, client)
  if ('code' in asked) return asked
  // A token request cannot add scopes of sign-in to those that were shown.
  const identity = before.identity.filter(
    name => asked.identity.includes(name) || asked.identity.length === 0 || name === 'offline_access',
  )
  return { ...asked, identity }
}

/** The error for which a user gets no token now; null if there is none. */
function refusal(
  ground: MicrosoftGround,
  user: User,
  client: Client,
  endpoint: Endpoint,
  asked: AskedScopes,
): SignInError | null {
  const caused = ground.refusals.take(user.email, client.clientId)
  if (caused) return caused
  const tenant = ground.tenants.of(user)
  const problem = userProblem(ground, user, client, endpoint) ?? cloudProblem(asked, tenant)
  if (problem) return problem
  const allowed = ground.grants.allowed(user, tenant, client)
  const isAllowed =
    ground.grants.knows(user, tenant, client) &&
    permissionsFor(user, client, asked).every(permission => allowed.includes(permission))
  return isAllowed ? null : notConsented(user, client, tenant)
}

const notConsented = (user: User, { clientId, name }: Client, { id }: Tenant): SignInError =>
  signInError(
    65_001,
    'invalid_grant',
    `The user or administrator has not consented to use the application with ID '${clientId}' named '${name}'. Send an interactive authorization request for this user and resource. User '${user.id}', tenant '${id}'.`,
    { suberror: 'consent_required' },
  )

interface Answered {
  readonly user: User
  readonly client: Client
  readonly asked: AskedScopes
  readonly nonce: string | null
  readonly form: URLSearchParams
}

async function answerTokens(
  ground: MicrosoftGround,
  { user, client, asked, nonce, form }: Answered,
): Promise<Response> {
  const tenant = ground.tenants.of(user)
  const scopes = grantedPermissions(ground, user, client, asked)
  const accessToken = await issueAccessToken(ground, { user, client, tenant, scopes, roles: [] })
  const { identity } = asked
  const refreshToken = identity.includes('offline_access')
    ? ground.grants.issueRefreshToken(user, client, asked)
    : null
  return Response.json(
    {
      token_type: 'Bearer',
      scope: presentScopes(scopes, asked, resourceCloud(tenant)),
      expires_in: ACCESS_TOKEN_SECONDS,
      ext_expires_in: ACCESS_TOKEN_SECONDS,
      access_token: accessToken.token,
      ...(refreshToken && { refresh_token: refreshToken.token }),
      ...(identity.includes('openid') && {
        id_token: await signIdToken(ground, { user, client, identity, nonce }),
      }),
      ...(form.get('client_info') === '1' && { client_info: clientInfo(ground, user) }),
    },
    { headers: NO_STORE },
  )
}
