import { lookup as lookupName } from 'node:dns/promises'
import { type LookupFunction, type Socket, isIPv6 } from 'node:net'
import { type AddressBytes, isGlobalUnicast, isSameAddress, parseAddress } from './address.ts'
import { type EgressAllowList, isAddressAllowed, isHostAllowed } from './allow-list.ts'
import { type HostName, parseHost } from './host.ts'

export type EgressKind = 'imap' | 'smtp' | 'https'
type PortRules = Readonly<Record<EgressKind, (port: number) => boolean>>

const USUAL_PORTS: PortRules = {
  imap: oneOf(143, 993),
  smtp: oneOf(25, 465, 587),
  https: oneOf(443),
}
const RESOLVE_TIMEOUT_SECONDS = 10
const ADDRESSES_MAX = 16

/** Thrown if the target may not be connected to. `message` is for the caller and reveals nothing about the network. */
export class EgressRefused extends Error {
  override name = 'EgressRefused'
  /** The exact reason, for the operator's log. */
  readonly detail: string

  constructor(host: string, detail: string) {
    super(
      `No public address was found for ${host}, or this service may not connect to it. Check the name, use the usual port, or ask the operator to allow the server.`,
    )
    this.detail = detail
  }
}

/** Thrown if the name does not resolve at the moment. */
export class EgressUnresolved extends Error {
  override name = 'EgressUnresolved'
  /** Whether the name may exist: DNS gave no answer, rather than the answer that there is no such name. */
  readonly isTemporary: boolean

  constructor(message: string, options: { isTemporary: boolean; cause?: unknown }) {
    super(message, options)
    this.isTemporary = options.isTemporary
  }
}

/** Codes of `getaddrinfo` and c-ares. */
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'ENODATA'])

/** Returns the addresses of a name, best first. Rejects if there are none. */
export type Resolver = (name: string) => Promise<string[]>

/** The checked target of a connection. Later changes of what the name resolves to do not matter. */
export interface Destination {
  /** The host that was asked for, in ASCII: for SNI and for the names in the certificate. */
  host: string
  port: number
  addresses: readonly [string, ...string[]]
  /** For `net.connect` and `tls.connect`: returns the checked addresses instead of resolving again. */
  lookup: LookupFunction
  /** Throws `EgressRefused` and destroys the socket if it is connected to another address. */
  checkPeer(socket: Socket): void
}

export interface EgressGuard {
  /**
   * Checks a target and resolves it. Must be called before each connection. Throws `EgressRefused`, `EgressUnresolved`.
   */
  resolve(target: { host: string; port: number; kind: EgressKind }): Promise<Destination>
}

export function egressGuard(options: {
  allow: EgressAllowList
  resolve?: Resolver
  /** Replaces the rules by which a port is a usual one. */
  isUsualPort?: Partial<PortRules>
}): EgressGuard {
  const { allow, resolve = resolveBySystem, isUsualPort } = options
  const rules = { ...USUAL_PORTS, ...isUsualPort }
  return {
    async resolve({ host, port, kind }) {
      const parsed = parseHost(host)
      if (!parsed) throw new EgressRefused(host, `${JSON.stringify(host)} is not a host name`)
      const isNamed = isHostAllowed(allow, parsed, port)
      if (!isNamed && !parsed.address && !parsed.name.includes('.')) {
        throw new EgressRefused(host, `${parsed.name} is a local name`)
      }

      const addresses = parsed.address ? [parsed.name] : await resolveBounded(resolve, parsed)
      for (const address of addresses) {
        const bytes = parseAddress(address)
        if (!bytes)
          throw new EgressRefused(
            host,
            `${parsed.name} resolves to ${JSON.stringify(address)}, which is not an address`,
          )
        if (isNamed || isAddressAllowed(allow, bytes, port)) continue
        if (!isGlobalUnicast(bytes))
          throw new EgressRefused(host, `${parsed.name} is at ${address}, which is not public`)
        if (!rules[kind](port)) throw new EgressRefused(host, `${port} is not a port of ${kind}`)
      }
      return destination(parsed, port, addresses)
    },
  }
}

function oneOf(...ports: readonly number[]): (port: number) => boolean {
  return port => ports.includes(port)
}

async function resolveBounded(resolve: Resolver, host: HostName): Promise<string[]> {
  const timeout = Promise.withResolvers<never>()
  const giveUp = () => {
    const message = `${host.name} was not resolved in ${RESOLVE_TIMEOUT_SECONDS} s`
    timeout.reject(new EgressUnresolved(message, { isTemporary: true }))
  }
  const timer = setTimeout(giveUp, RESOLVE_TIMEOUT_SECONDS * 1000)
  try {
    const addresses = await Promise.race([resolve(host.name), timeout.promise])
    if (addresses.length === 0) throw withoutAddress(host)
    return addresses.slice(0, ADDRESSES_MAX)
  } catch (cause) {
    if (cause instanceof EgressUnresolved) throw cause
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    const isTemporary = !NO_SUCH_NAME.has(code)
    throw new EgressUnresolved(`${host.name} does not resolve`, { isTemporary, cause })
  } finally {
    clearTimeout(timer)
  }
}

function withoutAddress({ name }: HostName): EgressUnresolved {
  return new EgressUnresolved(`${name} has no address`, { isTemporary: false })
}

function destination(host: HostName, port: number, addresses: readonly string[]): Destination {
  const [first, ...others] = addresses
  if (first === undefined) throw withoutAddress(host)
  const checked = addresses.map(parseAddress).filter((bytes): bytes is AddressBytes => bytes !== null)
  return {
    host: host.name,
    port,
    addresses: [first, ...others],
    lookup(_name, options, answer) {
      if (options.all)
        answer(
          null,
          addresses.map(address => ({ address, family: familyOf(address) })),
        )
      else answer(null, first, familyOf(first))
    },
    checkPeer(socket) {
      const peer = parseAddress(socket.remoteAddress ?? '')
      if (peer && checked.some(bytes => isSameAddress(bytes, peer))) return
      socket.destroy()
      throw new EgressRefused(
        host.name,
        `${host.name} was connected at ${socket.remoteAddress}, which was not checked`,
      )
    },
  }
}

function familyOf(address: string): 4 | 6 {
  return isIPv6(address) ? 6 : 4
}

/**
 * Resolves as other programs on this machine do, including `/etc/hosts`, in the order of RFC 6724. Holds a thread until
 * there is an answer.
 */
export async function resolveBySystem(name: string): Promise<string[]> {
  const found = await lookupName(name, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}
