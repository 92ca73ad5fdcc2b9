import { type EgressAllowList, isAddressAllowed, isHostAllowed } from './allow-list.ts'
import { parseAddress } from './address.ts'
import {
  type Destination,
  EgressRefused,
  EgressUnresolved,
  type Resolver,
  egressGuard,
  resolveBySystem,
} from './guard.ts'
import { parseHost } from './host.ts'
import { nameServerResolver } from './name-servers.ts'

/** Thrown if a target is not HTTPS, and the operator does not allow plain HTTP to it. */
export class PlainHttpRefused extends EgressRefused {
  override name = 'PlainHttpRefused'
}

/** Checks the URLs to which events are posted. */
export interface TargetGuard {
  /** Throws `PlainHttpRefused` if the URL decides it. Asks no name server. */
  checkScheme(url: URL): void
  /**
   * Checks a target and resolves its host. Must be called before each connection. Throws `PlainHttpRefused`,
   * `EgressRefused` and `EgressUnresolved`.
   */
  resolve(url: URL): Promise<Destination>
}

const HTTPS_PORT = 443
const HTTP_PORT = 80
/** Below it are the ports of other protocols. */
const FREE_PORT_MIN = 1024

/**
 * Targets are on public addresses, use HTTPS, and the port 443 or one of the ports from 1024 on; except for what `allow`
 * names, where `allowHttp` lets plain HTTP through as well.
 */
export function targetGuard(options: {
  allow: EgressAllowList
  allowHttp: boolean
  resolve?: Resolver
}): TargetGuard {
  const { allow, allowHttp, resolve = targetResolver(allow) } = options
  const guard = egressGuard({
    allow,
    isUsualPort: { https: port => port === HTTPS_PORT || port >= FREE_PORT_MIN },
    resolve,
  })

  function checkScheme(url: URL): void {
    if (url.protocol === 'https:') return
    if (url.protocol !== 'http:' || !allowHttp)
      throw new PlainHttpRefused(url.hostname, `${url.protocol} is not https`)
    if (!mayBeNamed(allow, url))
      throw new PlainHttpRefused(url.hostname, `plain HTTP is not allowed to ${url.host}`)
  }

  return {
    checkScheme,
    async resolve(url) {
      checkScheme(url)
      const target = { host: url.hostname, port: portOf(url), kind: 'https' } as const
      if (url.protocol === 'https:') return guard.resolve(target)
      const notNamed = `plain HTTP is not allowed to ${url.host}`
      try {
        const destination = await guard.resolve(target)
        if (isNamed(allow, destination)) return destination
      } catch (error) {
        const isNoName = error instanceof EgressUnresolved && !error.isTemporary
        if (!isNoName && !(error instanceof EgressRefused)) throw error
        if (isHostNamed(allow, url)) throw error
        throw new PlainHttpRefused(url.hostname, notNamed)
      }
      throw new PlainHttpRefused(url.hostname, notNamed)
    },
  }
}

/** The operator's own names are resolved as everywhere on this machine, and those of tenants without its threads. */
function targetResolver(allow: EgressAllowList): Resolver {
  const resolveByNameServers = nameServerResolver()
  return name =>
    allow.hosts.some(host => host.name === name) ? resolveBySystem(name) : resolveByNameServers(name)
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'http:' ? HTTP_PORT : HTTPS_PORT
}

function isHostNamed(allow: EgressAllowList, url: URL): boolean {
  const host = parseHost(url.hostname)
  return host !== null && isHostAllowed(allow, host, portOf(url))
}

/** Whether the operator named the host, or may have named the addresses that it resolves to. */
function mayBeNamed(allow: EgressAllowList, url: URL): boolean {
  const host = parseHost(url.hostname)
  if (!host) return false
  if (host.address) return isAddressAllowed(allow, host.address, portOf(url))
  if (isHostAllowed(allow, host, portOf(url))) return true
  return allow.ranges.some(({ port }) => (port ?? portOf(url)) === portOf(url))
}

/** Whether the operator named the host, or each address that a connection may go to. */
function isNamed(allow: EgressAllowList, { host, port, addresses }: Destination): boolean {
  const parsed = parseHost(host)
  if (parsed && isHostAllowed(allow, parsed, port)) return true
  return addresses.every(address => {
    const bytes = parseAddress(address)
    return bytes !== null && isAddressAllowed(allow, bytes, port)
  })
}
