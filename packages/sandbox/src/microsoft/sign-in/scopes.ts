import { type Cloud, cloudAtGraph } from '../clouds.ts'

/** Scopes of OpenID Connect, which belong to no resource. */
const IDENTITY_SCOPES: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'offline_access'])

const DEFAULT_SCOPE = '.default'

interface Permission {
  /** Words of the consent page. */
  readonly says: string
  /** Whether only an administrator may allow it. */
  readonly needsAdministrator?: true
  /** Whether persons' own accounts have it, too. */
  readonly isPersonal: boolean
}

const permission = (says: string): Permission => ({ says, isPersonal: true })
const shared = (says: string): Permission => ({ says, isPersonal: false })

/** Delegated permissions of Graph. */
const DELEGATED: Readonly<Record<string, Permission>> = {
  'User.Read': permission('Sign you in and read your profile'),
  'User.ReadBasic.All': shared('Read all users’ basic profiles'),
  'User.Read.All': { ...shared('Read all users’ full profiles'), needsAdministrator: true },
  'Directory.Read.All': { ...shared('Read directory data'), needsAdministrator: true },
  'Mail.ReadBasic': permission('Read your basic mail'),
  'Mail.Read': permission('Read your mail'),
  'Mail.ReadWrite': permission('Read and write access to your mail'),
  'Mail.Send': permission('Send mail as you'),
  'Mail.Read.Shared': shared('Read mail you can access'),
  'Mail.ReadWrite.Shared': shared('Read and write mail you can access'),
  'Mail.Send.Shared': shared('Send mail on behalf of others or yourself'),
  'MailboxSettings.Read': permission('Read your mailbox settings'),
  'MailboxSettings.ReadWrite': permission('Read and write to your mailbox settings'),
  'Calendars.Read': permission('Read your calendars'),
  'Calendars.ReadWrite': permission('Have full access to your calendars'),
  'Calendars.Read.Shared': shared('Read calendars you can access'),
  'Calendars.ReadWrite.Shared': shared('Read and write to calendars you can access'),
  'Contacts.Read': permission('Read your contacts'),
  'Contacts.ReadWrite': permission('Have full access to your contacts'),
  'Contacts.Read.Shared': shared('Read contacts you can access'),
  'Contacts.ReadWrite.Shared': shared('Read and write contacts you can access'),
  'OnlineMeetings.ReadWrite': shared('Read and create your online meetings'),
}

const BY_SMALL_NAME = new Map(Object.keys(DELEGATED).map(name => [name.toLowerCase(), name]))

/** A `scope` parameter: scopes of sign-in, and permissions of Graph in the cloud whose host they name. */
export interface AskedScopes {
  /** Scopes of OpenID Connect. */
  readonly identity: readonly string[]
  /** Permissions of Graph by their own names, such as `Mail.Send`. */
  readonly permissions: readonly string[]
  /** Whether everything that is registered was asked for. */
  readonly isDefault: boolean
  /** The cloud whose Graph host the scopes name; null if they name none, which means that of the user. */
  readonly cloud: Cloud | null
  /** Whether answers name permissions with the host. */
  readonly withHost: boolean
}

export type ScopeProblem =
  | { readonly kind: 'no_such_permission'; readonly scope: string }
  | { readonly kind: 'no_such_resource'; readonly resource: string }
  | { readonly kind: 'several_resources' }
  | { readonly kind: 'default_and_others' }

const GRAPH_ID = '00000003-0000-0000-c000-000000000000'

/** Reads a `scope` parameter. Names are compared without regard to case. */
export function readScopes(text: string): AskedScopes | ScopeProblem {
  const identity = new Set<string>()
  const permissions = new Set<string>()
  const resources = new Set<string>()
  let isDefault = false
  for (const scope of text.split(/\s+/).filter(Boolean)) {
    const small = scope.toLowerCase()
    if (IDENTITY_SCOPES.has(small)) {
      identity.add(small)
      continue
    }
    const slash = scope.lastIndexOf('/')
    const [resource, name] = [scope.slice(0, Math.max(0, slash)), scope.slice(slash + 1)]
    resources.add(resource.toLowerCase())
    if (name.toLowerCase() === DEFAULT_SCOPE) {
      isDefault = true
      continue
    }
    const known = BY_SMALL_NAME.get(name.toLowerCase())
    if (known === undefined && isGraph(resource)) return { kind: 'no_such_permission', scope: name }
    permissions.add(known ?? name)
  }
  const foreign = [...resources].find(resource => !isGraph(resource))
  if (foreign !== undefined) return { kind: 'no_such_resource', resource: foreign }
  const clouds = new Set([...resources].map(cloudOfResource).filter(cloud => cloud !== null))
  if (clouds.size > 1) return { kind: 'several_resources' }
  if (isDefault && permissions.size > 0) return { kind: 'default_and_others' }
  const [cloud = null] = clouds
  return {
    identity: [...identity],
    permissions: [...permissions],
    isDefault,
    cloud,
    withHost: resources.has('') ? false : resources.size > 0,
  }
}

const cloudOfResource = (resource: string): Cloud | null =>
  cloudAtGraph(resource.replace(/^https:\/\//, '').replace(/\/+$/, ''))

const isGraph = (resource: string): boolean =>
  resource === '' || resource === GRAPH_ID || cloudOfResource(resource.toLowerCase()) !== null

/** Names of permissions as the answer to this request has them. */
export const presentScopes = (
  permissions: readonly string[],
  { identity, withHost }: AskedScopes,
  cloud: Cloud,
): string =>
  [
    ...permissions.map(name => (withHost ? `https://${cloud.graphHost}/${name}` : name)),
    ...identity.filter(scope => scope !== 'offline_access'),
  ].join(' ')

export const needsAdministrator = (permissions: readonly string[]): boolean =>
  permissions.some(name => DELEGATED[name]?.needsAdministrator === true)

/** The permissions among these that persons' own accounts have. */
export const personalOf = (permissions: readonly string[]): string[] =>
  permissions.filter(name => DELEGATED[name]?.isPersonal === true)

export const describePermission = (name: string): string => DELEGATED[name]?.says ?? name
