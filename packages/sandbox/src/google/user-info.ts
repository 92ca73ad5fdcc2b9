import type { Call } from '../world/calls.ts'
import { authenticate } from './authenticate.ts'
import { oauthError } from './errors.ts'
import type { GoogleGround } from './ground.ts'
import { identityClaims } from './id-token.ts'
import { SIGN_IN_SCOPES } from './scopes.ts'

/** Answers the claims of the signed-in user (OpenID Connect Core section 5.3). */
export function userInfo(ground: GoogleGround, request: Request, call: Call): Response {
  const caller = authenticate(ground.accounts, request, call)
  const isSignedIn =
    !(caller instanceof Response) && caller.scopes.some(scope => SIGN_IN_SCOPES.includes(scope))
  if (!isSignedIn) {
    return oauthError(
      401,
      'invalid_request',
      'Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
    )
  }
  return Response.json(identityClaims(caller.user, caller.scopes))
}
