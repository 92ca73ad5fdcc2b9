import type { Accounts } from './accounts.ts'
import { oauthError } from './errors.ts'

/**
 * Revokes a token of either kind (RFC 7009). The whole grant of the user and client ends, with every other token that
 * stands on it.
 */
export function revoke(accounts: Accounts, token: string | null): Response {
  if (!token) return oauthError(400, 'invalid_request', 'Missing required parameter: token')
  const { grants } = accounts
  const refreshToken = grants.findRefreshToken(token)
  const accessToken = refreshToken ? null : grants.findAccessToken(token)
  const grant = refreshToken?.grant ?? accessToken?.grant
  if (grant) grants.revoke(grant)
  else if (accessToken) grants.endAccessToken(token)
  else return oauthError(400, 'invalid_token', 'Token expired or revoked')
  return Response.json({})
}
