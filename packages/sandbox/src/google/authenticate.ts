import type { Call } from '../world/calls.ts'
import type { Accounts } from './accounts.ts'
import type { Caller } from './caller.ts'
import { apiError, errorInfo } from './errors.ts'

const REALM = 'Bearer realm="https://accounts.google.com/"'
const EXPECTED = `Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.`

/**
 * Finds who calls by the access token of `Authorization` or `access_token`, and notes it in the call log. Otherwise
 * returns the 401 that Google answers.
 */
export function authenticate(accounts: Accounts, request: Request, call: Call): Caller | Response {
  const token = bearerToken(request)
  if (token === null) {
    return apiError({
      code: 401,
      status: 'UNAUTHENTICATED',
      message: `Request is missing required authentication credential. ${EXPECTED}`,
      shortMessage: 'Login Required.',
      reason: 'required',
      location: 'Authorization',
      locationType: 'header',
      details: [errorInfo('CREDENTIALS_MISSING', call.host)],
      headers: { 'www-authenticate': REALM },
    })
  }
  const caller = accounts.findCaller(token)
  if (caller === null) return invalidToken(call.host)
  call.user = caller.user.email
  call.clientId = caller.client?.clientId ?? null
  return caller
}

/** The answer to a token that is unknown, expired, revoked or of a suspended user. */
export function invalidToken(host: string): Response {
  return apiError({
    code: 401,
    status: 'UNAUTHENTICATED',
    message: `Request had invalid authentication credentials. ${EXPECTED}`,
    shortMessage: 'Invalid Credentials',
    reason: 'authError',
    location: 'Authorization',
    locationType: 'header',
    details: [errorInfo('ACCESS_TOKEN_EXPIRED', host)],
    headers: { 'www-authenticate': `${REALM}, error="invalid_token"` },
  })
}

/** Returns null if the caller has one of the scopes, otherwise the 403 that Google answers. */
export function refuseScopes(caller: Caller, host: string, oneOf: readonly string[]): Response | null {
  if (oneOf.some(scope => caller.scopes.includes(scope))) return null
  return apiError({
    code: 403,
    status: 'PERMISSION_DENIED',
    message: 'Request had insufficient authentication scopes.',
    shortMessage: 'Insufficient Permission',
    reason: 'insufficientPermissions',
    details: [errorInfo('ACCESS_TOKEN_SCOPE_INSUFFICIENT', host)],
    headers: { 'www-authenticate': `${REALM}, error="insufficient_scope", scope="${oneOf.join(' ')}"` },
  })
}

export function bearerToken(request: Request): string | null {
  const header = request.headers.get('authorization')
  if (header !== null) return /^Bearer +(\S+)$/i.exec(header)?.[1] ?? ''
  return new URL(request.url).searchParams.get('access_token')
}
