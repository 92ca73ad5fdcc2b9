import {
  type AddressBytes,
  type AddressRange,
  isWithin,
  parseAddress,
  parseRange,
} from '../kit/egress/address.ts'

const IPV4_MAPPED = parseRange('::ffff:0:0/96')
/** An IPv4 address, as a socket that serves both families names it. */
const MAPPED_TEXT = /^::ffff:(?=\d+\.)/i
const FORWARDED_HOPS_MAX = 20

/** The client of a request. */
export interface Client {
  /** Its address as text; null if it is not known. */
  address: string | null
  /** Identifies it for rate limits: an IPv4 address, or the /64 of an IPv6 one. */
  group: string
}

export type ClientOf = (peer: string | undefined, forwardedFor: string | undefined) => Client

/**
 * `X-Forwarded-For` is trusted only if the peer is a trusted proxy. It is read from the right: what is left of the
 * first address that is not a trusted proxy was written by the client.
 */
export function clientAddresses(trustedProxies: readonly string[]): ClientOf {
  const trusted = trustedProxies.map(parseRange).filter(range => range !== null)
  const isTrusted = (address: AddressBytes) => trusted.some(range => isWithin(address, range))

  return (peer, forwardedFor) => {
    let text = withoutZone(peer ?? '')
    let client = parseAddress(text)
    if (!client) return { address: null, group: 'unknown' }
    const hops = trusted.length > 0 && forwardedFor ? forwardedFor.split(',').slice(-FORWARDED_HOPS_MAX) : []
    for (const hop of hops.toReversed()) {
      if (!isTrusted(client)) break
      const address = parseAddress(hop.trim())
      // If a trusted proxy writes something else, the proxy itself counts as the client.
      if (!address) break
      client = address
      text = hop.trim()
    }
    return { address: text.replace(MAPPED_TEXT, ''), group: groupOf(client) }
  }
}

function groupOf(address: AddressBytes): string {
  const isIPv4 = IPV4_MAPPED !== null && isWithin(address, IPV4_MAPPED satisfies AddressRange)
  return Buffer.from(isIPv4 ? address : address.subarray(0, 8)).toString('hex')
}

/** Removes the interface that Node appends to a link-local peer (`fe80::1%eth0`). */
function withoutZone(address: string): string {
  return address.replace(/%.*$/, '')
}
