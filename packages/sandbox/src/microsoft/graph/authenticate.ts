import type { Call } from '../../world/calls.ts'
import type { User } from '../../world/users.ts'
import type { Cloud } from '../clouds.ts'
import type { MicrosoftGround } from '../ground.ts'
import { graphIdOf } from '../ids.ts'
import type { AccessToken } from '../sign-in/grants.ts'
import { GraphRefusal } from './errors.ts'

/** User, app and permissions of the access token of a call to Graph. */
export type GraphCaller = Omit<AccessToken, 'token' | 'issuedAt' | 'expiresAt'>

const GRAPH_ID = '00000003-0000-0000-c000-000000000000'

/**
 * Finds who calls Graph of a cloud by the access token of `Authorization`, and notes it in the call log. Throws the
 * 401 that Graph answers otherwise.
 */
export function authenticate(
  { grants }: Pick<MicrosoftGround, 'grants'>,
  cloud: Cloud,
  request: Request,
  call: Call,
): GraphCaller {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (token === undefined) throw invalidToken(cloud, 'Access token is empty.')
  const found = grants.findAccessToken(token)
  if (!found)
    throw invalidToken(
      cloud,
      grants.wasAccessToken(token)
        ? 'Lifetime validation failed, the token is expired.'
        : 'IDX14100: JWT is not well formed, there are no dots (.).',
    )
  if (found.cloud !== cloud) throw invalidToken(cloud, 'Access token validation failure. Invalid audience.')
  const { user, client, tenant, scopes, roles } = found
  call.user = user?.email ?? null
  call.clientId = client.clientId
  return { user, client, tenant, cloud, scopes, roles }
}

/** The answer to a token that is missing, unknown, expired or of another cloud. */
export const invalidToken = ({ loginHost }: Cloud, message: string): GraphRefusal =>
  new GraphRefusal(401, 'InvalidAuthenticationToken', message, {
    'www-authenticate': `Bearer realm="", authorization_uri="https://${loginHost}/common/oauth2/authorize", client_id="${GRAPH_ID}"`,
  })

/**
 * Finds the owner of a mailbox by `me`, an id or an address: the caller's own, one that the caller is a delegate of, or
 * for an app that acts for itself any of the tenant. Throws what Exchange answers otherwise. Permissions are the
 * method's matter.
 */
export function requireOwner(
  { users, tenants }: Pick<MicrosoftGround, 'users' | 'tenants'>,
  caller: GraphCaller,
  name: string,
): User {
  const { user, tenant } = caller
  if (name === 'me') return requireCallingUser(caller)
  const owner = findUser(users, caller, name)
  if (user && owner === user) return user
  if (!owner || tenants.of(owner) !== tenant)
    throw new GraphRefusal(404, 'ErrorInvalidUser', `The requested user '${name}' is invalid.`)
  if (owner.suspended || (user && !owner.delegates.includes(user.email)))
    throw new GraphRefusal(
      404,
      'ErrorItemNotFound',
      'The specified object was not found in the store., Default folder Root not found.',
    )
  return owner
}

/** Finds a user of the caller's cloud by id or address. */
export function findUser(
  users: MicrosoftGround['users'],
  { cloud }: Pick<GraphCaller, 'cloud'>,
  name: string,
): User | null {
  const found = users.find(name) ?? users.list().find(user => graphIdOf(user) === name.toLowerCase())
  return found?.cloud === cloud.name ? found : null
}

/** The user who calls. Throws what Graph answers to `/me` of an app that acts for itself. */
export function requireCallingUser({ user }: GraphCaller): User {
  if (user) return user
  throw new GraphRefusal(400, 'BadRequest', '/me request is only valid with delegated authentication flow.')
}
