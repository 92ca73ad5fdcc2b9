import { createPublicKey } from 'node:crypto'
import { jwtVerify } from 'jose'
import { oauthError } from './errors.ts'
import type { GoogleGround } from './ground.ts'
import { ISSUER } from './id-token.ts'
import { EMAIL_SCOPE } from './scopes.ts'

/** Answers the claims of an ID token, or user and scopes of an access token. All values are text, as Google gives them. */
export async function tokenInfo(
  ground: GoogleGround,
  tokens: { accessToken: string | null; idToken: string | null },
): Promise<Response> {
  const { accessToken, idToken } = tokens
  if (accessToken) return accessTokenInfo(ground, accessToken)
  if (idToken) return idTokenInfo(ground, idToken)
  return oauthError(400, 'invalid_request', 'Missing required parameter: access_token or id_token')
}

function accessTokenInfo(ground: GoogleGround, token: string): Response {
  const found = ground.accounts.grants.findAccessToken(token)
  if (!found) return oauthError(400, 'invalid_token', 'Invalid Value')
  const clientId = found.grant?.client.clientId ?? ''
  return Response.json({
    azp: clientId,
    aud: clientId,
    sub: found.user.id,
    scope: found.scopes.join(' '),
    exp: `${Math.floor(found.expiresAt / 1000)}`,
    expires_in: `${Math.floor((found.expiresAt - ground.clock.now()) / 1000)}`,
    ...(found.scopes.includes(EMAIL_SCOPE) && { email: found.user.email, email_verified: 'true' }),
    access_type: 'offline',
  })
}

async function idTokenInfo(ground: GoogleGround, token: string): Promise<Response> {
  for (const { pem } of await ground.keys.published()) {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, createPublicKey(pem), {
        issuer: ISSUER,
        currentDate: new Date(ground.clock.now()),
      })
      const claims = Object.entries(payload).map(([name, value]) => [name, String(value)])
      return Response.json({
        ...Object.fromEntries(claims),
        alg: 'RS256',
        kid: protectedHeader.kid,
        typ: 'JWT',
      })
    } catch {
      // Another key may have signed it.
    }
  }
  return oauthError(400, 'invalid_token', 'Invalid Value')
}
