import type { User } from '../../world/users.ts'
import type { MicrosoftGround } from '../ground.ts'
import { graphIdOf } from '../ids.ts'
import { findUser, type GraphCaller } from './authenticate.ts'
import { badRequest, GraphRefusal } from './errors.ts'

/** Properties that come without `$select`. */
const PROPERTIES: Readonly<Record<string, (user: User) => unknown>> = {
  businessPhones: () => [],
  displayName: user => user.name,
  givenName: user => givenName(user),
  jobTitle: () => null,
  mail: user => user.email,
  mobilePhone: () => null,
  officeLocation: () => null,
  preferredLanguage: () => null,
  surname: user => surname(user),
  userPrincipalName: user => user.email,
  id: user => graphIdOf(user),
}

/** Properties that come only when `$select` names them. */
const MORE: Readonly<Record<string, (user: User) => unknown>> = {
  accountEnabled: user => !user.suspended,
  userType: () => 'Member',
  proxyAddresses: user => [`SMTP:${user.email}`],
  otherMails: () => [],
}

const ALL = { ...PROPERTIES, ...MORE }

/** Permissions by which a user reads their own profile, or an app the profile of any user. */
const OWN = ['User.Read', 'User.ReadWrite', 'User.ReadBasic.All', 'User.Read.All', 'Directory.Read.All']
const OTHERS = ['User.ReadBasic.All', 'User.Read.All', 'Directory.Read.All']

/** The profile of the user whom `me`, an id or an address names. */
export function readProfile(
  ground: Pick<MicrosoftGround, 'users' | 'tenants'>,
  caller: GraphCaller,
  user: User | string,
  url: URL,
): object {
  const found = typeof user === 'string' ? findUser(ground.users, caller, user) : user
  const held = new Set([...caller.scopes, ...caller.roles])
  const needed = found === caller.user ? OWN : OTHERS
  if (!needed.some(permission => held.has(permission)))
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Insufficient privileges to complete the operation.',
    )
  if (!found || ground.tenants.of(found) !== caller.tenant)
    throw new GraphRefusal(
      404,
      'Request_ResourceNotFound',
      `Resource '${typeof user === 'string' ? user : user.email}' does not exist or one of its queried reference-property objects are not present.`,
    )
  return present(found, caller, url)
}

function present(user: User, { cloud }: GraphCaller, url: URL): object {
  const select = url.searchParams.get('$select')
  const names = select === null ? Object.keys(PROPERTIES) : select.split(',').map(name => name.trim())
  const shown = names.map((name): [string, unknown] => {
    const [known, read] = Object.entries(ALL).find(([one]) => one.toLowerCase() === name.toLowerCase()) ?? []
    if (known === undefined || !read)
      throw badRequest(
        `Parsing OData Select and Expand failed: Could not find a property named '${name}' on type 'microsoft.graph.user'.`,
      )
    return [known, read(user)]
  })
  const of = select === null ? 'users' : `users(${names.join(',')})`
  return {
    '@odata.context': `https://${cloud.graphHost}/v1.0/$metadata#${of}/$entity`,
    ...Object.fromEntries(shown),
  }
}

const givenName = ({ name }: User) => name.split(' ')[0] ?? name
const surname = ({ name }: User) => name.split(' ').slice(1).join(' ') || null

/** The claims of the userinfo endpoint (OpenID Connect Core section 5.3). */
export const userInfo = (user: User): object => ({
  sub: user.id,
  name: user.name,
  given_name: givenName(user),
  ...(surname(user) !== null && { family_name: surname(user) }),
  email: user.email,
})
