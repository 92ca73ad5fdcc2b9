import type { Random } from '../world/random.ts'
import type { User, Users } from '../world/users.ts'
import { type Cloud, type CloudName, CLOUDS, cloudOf } from './clouds.ts'
import { guid } from './ids.ts'
import type { SeedTenant } from './seed.ts'

/** The tenant of all persons' own accounts. */
export const PERSONAL_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad'

/** A directory of an organization, or that of all persons' own accounts. */
export interface Tenant {
  readonly id: string
  /** The organization's domain; null for persons. */
  readonly domain: string | null
  readonly cloud: CloudName
  /** Whether only an administrator may allow an app. */
  approvalRequired: boolean
  /** Addresses of administrators; null for the user who was added first. */
  administrators: readonly string[] | null
}

export interface Tenants {
  of(user: Pick<User, 'organization' | 'cloud'>): Tenant
  /** Finds a tenant that signs in at a host, by its id or domain. Only tenants with users or settings exist. */
  find(loginHost: string, idOrDomain: string): Tenant | null
  isAdministrator(user: User): boolean
  /** Makes or changes the tenant of a domain. */
  configure(settings: SeedTenant): Tenant
}

export function openTenants(users: Users, random: Random): Tenants {
  const known = new Map<string, Tenant>()
  const tenantOf = (cloud: Cloud, domain: string | null): Tenant => {
    const key = `${cloud.name} ${domain}`
    const found = known.get(key)
    if (found) return found
    // Each id comes from its own stream, so that it does not depend on the order in which tenants are asked for.
    const id = domain === null ? PERSONAL_TENANT : guid(random.stream(key))
    const tenant = { id, domain, cloud: cloud.name, approvalRequired: false, administrators: null }
    known.set(key, tenant)
    return tenant
  }
  const tenants: Tenants = {
    of: user => tenantOf(cloudOf(user), user.organization),
    find(loginHost, idOrDomain) {
      const name = idOrDomain.toLowerCase()
      for (const user of users.list()) tenants.of(user)
      return (
        [...known.values()].find(
          ({ id, domain, cloud }) =>
            (id === name || domain === name) && CLOUDS[cloud].loginHost === loginHost,
        ) ?? null
      )
    },
    isAdministrator(user) {
      const tenant = tenants.of(user)
      if (tenant.domain === null) return false
      if (tenant.administrators !== null) return tenant.administrators.includes(user.email)
      return users.list().find(other => tenants.of(other) === tenant) === user
    },
    configure({ domain, cloud = 'global', approvalRequired, administrators }) {
      const tenant = tenantOf(CLOUDS[cloud], domain.toLowerCase())
      if (approvalRequired !== undefined) tenant.approvalRequired = approvalRequired
      if (administrators !== undefined)
        tenant.administrators = administrators?.map(email => email.toLowerCase()) ?? null
      return tenant
    },
  }
  return tenants
}
