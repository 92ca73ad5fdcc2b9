import type { MicrosoftGround } from '../ground.ts'
import { missing } from './client-authentication.ts'
import { NO_STORE, signInError, type SignInError } from './errors.ts'
import { ACCESS_TOKEN_SECONDS } from './grants.ts'
import { issueAccessToken } from './access-token.ts'
import { cloudProblem, readAsked } from './permissions.ts'
import type { TokenRequest } from './token-request.ts'

/** Gives an app a token for itself (RFC 6749 section 4.4), with what an administrator of the tenant allowed it. */
export async function clientCredentials(
  ground: MicrosoftGround,
  { client, endpoint, form }: TokenRequest,
): Promise<Response | SignInError> {
  const { tenant } = endpoint
  if (!tenant || tenant.domain === null)
    return signInError(
      50_059,
      'invalid_request',
      'No tenant-identifying information found in either the request or implied by any provided credentials.',
    )
  const scope = form.get('scope')
  if (!scope) return missing('scope')
  const asked = readAsked(scope, client)
  if ('code' in asked) return asked
  if (!asked.isDefault)
    return signInError(
      1_002_012,
      'invalid_scope',
      `The provided value for scope ${scope} is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).`,
    )
  const problem = ground.refusals.take(null, client.clientId) ?? cloudProblem(asked, tenant)
  if (problem) return problem
  const roles = ground.grants.rolesOf(tenant, client)
  if (!roles)
    return signInError(
      7_000_229,
      'unauthorized_client',
      `The client application ${client.clientId} is missing service principal in the tenant ${tenant.id}. See instructions here: https://go.microsoft.com/fwlink/?linkid=2225119.`,
    )
  const { token } = await issueAccessToken(ground, { user: null, client, tenant, scopes: [], roles })
  return Response.json(
    {
      token_type: 'Bearer',
      expires_in: ACCESS_TOKEN_SECONDS,
      ext_expires_in: ACCESS_TOKEN_SECONDS,
      access_token: token,
    },
    { headers: NO_STORE },
  )
}
