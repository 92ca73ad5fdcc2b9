import type { Call } from '../../world/calls.ts'
import type { User } from '../../world/users.ts'
import type { Cloud } from '../clouds.ts'
import type { MicrosoftGround } from '../ground.ts'
import { graphIdOf } from '../ids.ts'
import type { Client } from '../sign-in/clients.ts'
import type { Tenant } from '../tenants.ts'
import { graphError } from './graph-error.ts'

/** User, app and permissions of the access token of a call to Graph. */
export interface GraphCaller {
  /** Null for an app that acts for itself. */
  readonly user: User | null
  readonly client: Client
  readonly tenant: Tenant
  readonly cloud: Cloud
  /** Delegated permissions, such as `Mail.ReadWrite`. */
  readonly scopes: readonly string[]
  /** Application permissions, of an app that acts for itself. */
  readonly roles: readonly string[]
}

const GRAPH_ID = '00000003-0000-0000-c000-000000000000'

/**
 * Finds who calls Graph of a cloud by the access token of `Authorization`, and notes it in the call log. Otherwise
 * returns the 401 that Graph answers.
 */
export function authenticate(
  { grants }: Pick<MicrosoftGround, 'grants'>,
  cloud: Cloud,
  request: Request,
  call: Call,
): GraphCaller | Response {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (token === undefined) return invalidToken(cloud, 'Access token is empty.')
  const found = grants.findAccessToken(token)
  if (!found)
    return invalidToken(
      cloud,
      grants.wasAccessToken(token)
        ? 'Lifetime validation failed, the token is expired.'
        : 'IDX14100: JWT is not well formed, there are no dots (.).',
    )
  if (found.cloud !== cloud) return invalidToken(cloud, 'Access token validation failure. Invalid audience.')
  const { user, client, tenant, scopes, roles } = found
  call.user = user?.email ?? null
  call.clientId = client.clientId
  return { user, client, tenant, cloud, scopes, roles }
}

/** The answer to a token that is missing, unknown, expired or of another cloud. */
export const invalidToken = (cloud: Cloud, message: string): Response =>
  graphError({
    status: 401,
    code: 'InvalidAuthenticationToken',
    message,
    headers: {
      'www-authenticate': `Bearer realm="", authorization_uri="https://${cloud.loginHost}/common/oauth2/authorize", client_id="${GRAPH_ID}"`,
    },
  })

/** The 403 of Exchange to a call that a permission is missing for. */
export const accessDenied = (): Response =>
  graphError({
    status: 403,
    code: 'ErrorAccessDenied',
    message: 'Access is denied. Check credentials and try again.',
  })

/**
 * Finds the user of a mailbox by `me`, an id or an address, for a caller who has one of the permissions there.
 * Otherwise returns what Exchange answers. `oneOf` are permissions for the own mailbox, such as `Mail.ReadWrite`;
 * another user's needs one of them with `.Shared`, and that the caller is a delegate.
 */
export function requireMailbox(
  { users, tenants }: Pick<MicrosoftGround, 'users' | 'tenants'>,
  caller: GraphCaller,
  name: string,
  oneOf: readonly string[],
): User | Response {
  const { user, scopes, roles, tenant } = caller
  if (name === 'me') {
    if (!user) return meNeedsUser()
    return oneOf.some(permission => scopes.includes(permission)) ? user : accessDenied()
  }
  const owner = findUser(users, caller, name)
  if (user && owner === user) return requireMailbox({ users, tenants }, caller, 'me', oneOf)
  const isAllowed = user
    ? oneOf.some(permission => scopes.includes(`${permission}.Shared`))
    : oneOf.some(permission => roles.includes(permission))
  if (!isAllowed) return accessDenied()
  if (!owner || tenants.of(owner) !== tenant)
    return graphError({
      status: 404,
      code: 'ErrorInvalidUser',
      message: `The requested user '${name}' is invalid.`,
    })
  if (owner.suspended || (user && !owner.delegates.includes(user.email))) return notInStore()
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

export const meNeedsUser = (): Response =>
  graphError({
    status: 400,
    code: 'BadRequest',
    message: '/me request is only valid with delegated authentication flow.',
  })

/** The answer to a mailbox of others that the caller may not open. */
const notInStore = (): Response =>
  graphError({
    status: 404,
    code: 'ErrorItemNotFound',
    message: 'The specified object was not found in the store., Default folder Root not found.',
  })
