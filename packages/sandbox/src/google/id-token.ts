import { createHash } from 'node:crypto'
import type { User } from '../world/users.ts'
import type { GoogleGround } from './ground.ts'
import { EMAIL_SCOPE, PROFILE_SCOPE } from './scopes.ts'

export const ISSUER = 'https://accounts.google.com'
const ID_TOKEN_SECONDS = 3600

export interface IdTokenRequest {
  user: User
  clientId: string
  scopes: readonly string[]
  nonce: string | null
  accessToken: string
}

/** Signs an ID token (OpenID Connect Core section 2) with Google's claims. */
export function signIdToken(ground: GoogleGround, request: IdTokenRequest): Promise<string> {
  const { user, clientId, scopes, nonce, accessToken } = request
  const issuedAt = Math.floor(ground.clock.now() / 1000)
  return ground.keys.sign({
    iss: ISSUER,
    azp: clientId,
    aud: clientId,
    ...identityClaims(user, scopes),
    at_hash: createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url'),
    ...(nonce !== null && { nonce }),
    iat: issuedAt,
    exp: issuedAt + ID_TOKEN_SECONDS,
  })
}

/** The claims about a user that these scopes give, as ID tokens and the userinfo endpoint have them. */
export function identityClaims(user: User, scopes: readonly string[]): Record<string, string | boolean> {
  const [given = user.name, ...rest] = user.name.split(' ')
  return {
    sub: user.id,
    ...(scopes.includes(PROFILE_SCOPE) && {
      name: user.name,
      given_name: given,
      ...(rest.length > 0 && { family_name: rest.join(' ') }),
      picture: `https://lh3.googleusercontent.com/a/${user.id}=s96-c`,
    }),
    ...(scopes.includes(EMAIL_SCOPE) && { email: user.email, email_verified: true }),
    ...(user.organization !== null && { hd: user.organization }),
  }
}
