import type { User } from '../../world/users.ts'
import { type Cloud, CLOUDS } from '../clouds.ts'
import type { MicrosoftGround } from '../ground.ts'
import type { Tenant } from '../tenants.ts'
import type { Client } from './clients.ts'
import { signInError, type SignInError } from './errors.ts'
import { type AskedScopes, needsAdministrator, personalOf, readScopes, type ScopeProblem } from './scopes.ts'

/** Reads the scopes that a request asks for; otherwise what is wrong with them. */
export function readAsked(text: string, client: Client): AskedScopes | SignInError {
  const read = readScopes(text)
  return 'kind' in read ? scopeError(read, client) : read
}

function scopeError(problem: ScopeProblem, { clientId, name }: Client): SignInError {
  switch (problem.kind) {
    case 'no_such_permission':
      return signInError(
        650_053,
        'invalid_client',
        `The application '${name}' asked for scope '${problem.scope}' that doesn't exist on the resource '00000003-0000-0000-c000-000000000000'. Contact the app vendor.`,
        { status: 400 },
      )
    case 'no_such_resource':
      return noSuchResource(problem.resource, 'the directory')
    case 'several_resources':
      return signInError(
        28_000,
        'invalid_request',
        `Provided value for the input parameter scope is not valid because it contains more than one resource. Application '${clientId}'.`,
      )
    case 'default_and_others':
      return signInError(
        70_011,
        'invalid_scope',
        `The provided value for the input parameter 'scope' is not valid. .default scope can't be combined with resource-specific scopes.`,
      )
  }
}

const noSuchResource = (resource: string, tenant: string): SignInError =>
  signInError(
    500_011,
    'invalid_resource',
    `The resource principal named ${resource} was not found in the tenant named ${tenant}. This can happen if the application has not been installed by the administrator of the tenant or consented to by any user in the tenant. You might have sent your authentication request to the wrong tenant.`,
  )

/** The refusal of scopes that name Graph of another cloud than that of the tenant; null if they do not. */
export function cloudProblem({ cloud }: AskedScopes, tenant: Tenant): SignInError | null {
  if (!cloud || cloud.name === tenant.cloud) return null
  return noSuchResource(`https://${cloud.graphHost}`, tenant.domain ?? 'Microsoft accounts')
}

/** The cloud whose Graph a tenant's tokens are for. */
export const resourceCloud = (tenant: Tenant): Cloud => CLOUDS[tenant.cloud]

/** The permissions that a request comes to for a user: persons have fewer, and `.default` names none itself. */
export function permissionsFor(user: User, client: Client, asked: AskedScopes): string[] {
  const named = asked.isDefault ? client.delegatedPermissions : asked.permissions
  return user.organization === null ? personalOf(named) : [...named]
}

/** The consent that is missing before a user gets a code: none, the user's own, or an administrator's. */
export type ConsentNeeded = 'none' | 'user' | 'administrator'

export function consentNeeded(
  { grants, tenants }: MicrosoftGround,
  user: User,
  client: Client,
  asked: AskedScopes,
): ConsentNeeded {
  const tenant = tenants.of(user)
  const allowed = grants.allowed(user, tenant, client)
  const open = permissionsFor(user, client, asked).filter(permission => !allowed.includes(permission))
  if (open.length === 0 && grants.knows(user, tenant, client)) return 'none'
  const isBarred = tenant.approvalRequired || needsAdministrator(open)
  return isBarred && !tenants.isAdministrator(user) ? 'administrator' : 'user'
}

/** Delegated permissions of a new access token: all that were allowed for an organization's user, else those asked for. */
export function grantedPermissions(
  { grants, tenants }: MicrosoftGround,
  user: User,
  client: Client,
  asked: AskedScopes,
): string[] {
  const allowed = grants.allowed(user, tenants.of(user), client)
  if (user.organization !== null) return allowed
  return permissionsFor(user, client, asked).filter(permission => allowed.includes(permission))
}
