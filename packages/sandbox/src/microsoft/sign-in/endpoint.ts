import type { User } from '../../world/users.ts'
import { type Cloud, cloudsAtLogin } from '../clouds.ts'
import type { MicrosoftGround } from '../ground.ts'
import { PERSONAL_TENANT, type Tenant } from '../tenants.ts'
import { type Client, servesPersons } from './clients.ts'
import { signInError, type SignInError } from './errors.ts'

/** The part of a sign-in's paths that says who may sign in: `common`, `organizations`, `consumers` or a tenant. */
export interface Endpoint {
  readonly loginHost: string
  /** As the path has it. */
  readonly name: string
  /** Null for `common`, `organizations` and `consumers`. */
  readonly tenant: Tenant | null
  readonly takesPersons: boolean
  readonly takesOrganizations: boolean
}

const ANY: ReadonlySet<string> = new Set(['common', 'organizations', 'consumers'])

/** The endpoint of a path, or the error of a name that is wrong. */
export function readEndpoint(
  { tenants }: Pick<MicrosoftGround, 'tenants'>,
  loginHost: string,
  name: string,
): Endpoint | SignInError {
  const hasPersons = cloudsAtLogin(loginHost).some(cloud => cloud.hasPersonalAccounts)
  const small = name.toLowerCase()
  if (ANY.has(small) && (small !== 'consumers' || hasPersons)) {
    const [takesPersons, takesOrganizations] = [
      small !== 'organizations' && hasPersons,
      small !== 'consumers',
    ]
    return { loginHost, name: small, tenant: null, takesPersons, takesOrganizations }
  }
  const tenant = tenants.find(loginHost, name)
  if (!tenant)
    return signInError(
      90_002,
      'invalid_request',
      `Tenant '${name}' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud.`,
    )
  const isPersonal = tenant.id === PERSONAL_TENANT
  return { loginHost, name, tenant, takesPersons: isPersonal, takesOrganizations: !isPersonal }
}

/** Finds the reason why a client cannot use an endpoint for any user; null if there is none. */
export function clientProblem(client: Client, endpoint: Endpoint): SignInError | null {
  const { audience, clientId } = client
  if (audience === 'AzureADMyOrg' && endpoint.tenant === null)
    return signInError(
      50_194,
      'invalid_request',
      `Application '${clientId}' is not configured as a multi-tenant application. Usage of the /common endpoint is not supported for such apps created after '10/15/2018'. Use a tenant-specific endpoint or configure the application to be multi-tenant.`,
    )
  if (audience === 'AzureADMyOrg' && endpoint.tenant?.domain !== client.tenant)
    return notInDirectory(client.clientId, endpoint.name)
  if (audience === 'PersonalMicrosoftAccount' && !(endpoint.name === 'consumers' || isPersonal(endpoint)))
    return signInError(
      9_002_331,
      'invalid_request',
      `Application '${clientId}' is configured for use by Microsoft Account users only. Please use the /consumers endpoint to serve this request.`,
    )
  if (!servesPersons(client) && !endpoint.takesOrganizations)
    return signInError(
      9_002_346,
      'invalid_request',
      `Application '${clientId}' is configured for use by Azure Active Directory users only. Please do not use the /consumers endpoint to serve this request.`,
    )
  return null
}

const isPersonal = ({ tenant }: Endpoint) => tenant?.id === PERSONAL_TENANT

export const notInDirectory = (clientId: string, directory: string): SignInError =>
  signInError(
    700_016,
    'unauthorized_client',
    `Application with identifier '${clientId}' was not found in the directory '${directory}'. This can happen if the application has not been installed by the administrator of the tenant or consented to by any user in the tenant. You may have sent your authentication request to the wrong tenant.`,
  )

/** Finds the reason why a user cannot sign in to a client at an endpoint; null if there is none. */
export function userProblem(
  { tenants }: Pick<MicrosoftGround, 'tenants'>,
  user: User,
  client: Client,
  endpoint: Endpoint,
): SignInError | null {
  const tenant = tenants.of(user)
  if (user.suspended) return signInError(50_057, 'invalid_grant', 'The user account is disabled.')
  const isTaken = user.organization === null ? endpoint.takesPersons : endpoint.takesOrganizations
  if (!isTaken || !isAt(endpoint.loginHost, user) || (endpoint.tenant && endpoint.tenant !== tenant))
    return signInError(
      50_020,
      'invalid_grant',
      `User account '${user.email}' from identity provider '${tenant.domain ?? 'live.com'}' does not exist in tenant '${endpoint.name}' and cannot access the application '${client.clientId}' in that tenant. The account needs to be added as an external user in the tenant first. Sign out and sign in again with a different account.`,
    )
  if (user.organization === null && !servesPersons(client))
    return signInError(
      70_001,
      'unauthorized_client',
      'The client does not exist or is not enabled for consumers. If you are the application developer, configure a new application through the App Registrations.',
    )
  return null
}

const isAt = (loginHost: string, user: User): boolean =>
  cloudsAtLogin(loginHost).some(({ name }: Cloud) => name === user.cloud)
