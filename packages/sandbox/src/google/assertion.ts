import { createPublicKey } from 'node:crypto'
import { decodeJwt, type JWTPayload, jwtVerify } from 'jose'
import type { Call } from '../world/calls.ts'
import type { ServiceAccount } from './clients.ts'
import { oauthError } from './errors.ts'
import type { GoogleGround } from './ground.ts'
import { ACCESS_TOKEN_SECONDS } from './grants.ts'

const AUDIENCES: readonly string[] = [
  'https://oauth2.googleapis.com/token',
  'https://accounts.google.com/o/oauth2/token',
  'https://www.googleapis.com/oauth2/v4/token',
]
const LIFETIME_SECONDS_MAX = 3600
const CLOCK_SKEW_SECONDS = 300

const invalidGrant = (description: string) => oauthError(400, 'invalid_grant', description)

/** Gives an access token for the signed assertion of a service account that acts for a user (RFC 7523). */
export async function redeemAssertion(
  ground: GoogleGround,
  form: URLSearchParams,
  call: Call,
): Promise<Response> {
  const assertion = form.get('assertion')
  if (!assertion) return oauthError(400, 'invalid_request', 'Missing required parameter: assertion')
  const claims = readClaims(assertion)
  if (!claims) return invalidGrant('Invalid JWT: Invalid JWT format.')
  const account = ground.accounts.serviceAccounts.get(claims.iss ?? '')
  if (!account) return invalidGrant('Invalid grant: account not found')
  const fault = (await signatureFault(assertion, account)) ?? timeFault(claims, ground.clock.now())
  if (fault !== null) return invalidGrant(fault)
  if (!AUDIENCES.some(audience => claims.aud === audience)) {
    return invalidGrant(`Invalid JWT: Failed audience check. The right audience is ${AUDIENCES[0]}`)
  }
  const scopes = String(claims['scope'] ?? '')
    .split(' ')
    .filter(Boolean)
  if (scopes.length === 0) {
    return oauthError(400, 'invalid_scope', 'Invalid OAuth scope or ID token audience provided.')
  }
  return actFor(ground, account, claims.sub ?? '', scopes, call)
}

function actFor(
  ground: GoogleGround,
  account: ServiceAccount,
  subject: string,
  scopes: readonly string[],
  call: Call,
): Response {
  call.clientId = account.clientId
  const user = ground.users.find(subject)
  if (!user) return invalidGrant('Invalid email or User ID')
  if (user.organization !== account.domain || scopes.some(scope => !account.scopes.includes(scope))) {
    return oauthError(
      401,
      'unauthorized_client',
      'Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested.',
    )
  }
  call.user = user.email
  if (user.suspended) return invalidGrant('Account has been deleted')
  const { token } = ground.accounts.grants.issueAccessToken(user, null, scopes)
  return Response.json({ access_token: token, expires_in: ACCESS_TOKEN_SECONDS, token_type: 'Bearer' })
}

function readClaims(assertion: string): JWTPayload | null {
  try {
    return decodeJwt(assertion)
  } catch {
    return null
  }
}

async function signatureFault(assertion: string, account: ServiceAccount): Promise<string | null> {
  try {
    // The claims are checked by the sandbox's clock, apart.
    await jwtVerify(assertion, createPublicKey(account.keys().publicKey), {
      algorithms: ['RS256'],
      currentDate: new Date((decodeJwt(assertion).iat ?? 0) * 1000),
    })
    return null
  } catch {
    return 'Invalid JWT Signature.'
  }
}

function timeFault({ iat = 0, exp = 0 }: JWTPayload, now: number): string | null {
  const seconds = now / 1000
  const isGood =
    exp - iat <= LIFETIME_SECONDS_MAX && iat <= seconds + CLOCK_SKEW_SECONDS && exp > seconds && exp > iat
  return isGood
    ? null
    : 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.'
}
